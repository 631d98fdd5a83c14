// The kernel that lost_test.cpp plants. It ends all work of its process on the device.
namespace suf::gpu::cuda {

void PlantTrap();

__global__ void Trap() { asm("trap;"); }

void PlantTrap() { Trap<<<1, 1>>>(); }

}  // namespace suf::gpu::cuda
