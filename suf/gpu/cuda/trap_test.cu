// What lost_test.cpp plants: a kernel that ends all that its process does on the device.
namespace suf::gpu::cuda {

void PlantTrap();

__global__ void Trap() { asm("trap;"); }

void PlantTrap() { Trap<<<1, 1>>>(); }

}  // namespace suf::gpu::cuda
