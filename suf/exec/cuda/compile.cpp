#include "suf/exec/cuda/compile.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include "suf/base/error.hpp"

namespace suf::exec::cuda {
namespace {

// The functions of a shared library by name; null if one is missing.
class Library {
 public:
  explicit Library(std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (!handle_) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  template <class F>
  void Find(const char* name, F** f) const {
    *f = handle_ ? reinterpret_cast<F*>(dlsym(handle_, name)) : nullptr;
  }

 private:
  void* handle_ = nullptr;
};

struct Nvrtc {
  using Program = void*;
  int (*version)(int*, int*);
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(Program, int, const char* const*);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
  int (*size)(Program, size_t*);
  int (*code)(Program, char*);
  int (*destroy)(Program*);
  bool there = false;
  Nvrtc() {
    const Library lib({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
    lib.Find("nvrtcVersion", &version);
    lib.Find("nvrtcCreateProgram", &create);
    lib.Find("nvrtcCompileProgram", &compile);
    lib.Find("nvrtcGetProgramLogSize", &log_size);
    lib.Find("nvrtcGetProgramLog", &log);
    lib.Find("nvrtcGetCUBINSize", &size);
    lib.Find("nvrtcGetCUBIN", &code);
    lib.Find("nvrtcDestroyProgram", &destroy);
    there = version && create && compile && log_size && log && size && code && destroy;
  }
};
const Nvrtc& Compiler() {
  static const Nvrtc* const nvrtc = new Nvrtc;
  return *nvrtc;
}

// Functions of the driver that not all versions of the runtime offer.
struct Driver {
  decltype(cuModuleLoadData)* load;
  decltype(cuModuleUnload)* unload;
  decltype(cuModuleGetFunction)* function;
  decltype(cuLaunchKernel)* launch;
  Driver() {
    const Library lib({"libcuda.so.1"});
    lib.Find("cuModuleLoadData", &load);
    lib.Find("cuModuleUnload", &unload);
    lib.Find("cuModuleGetFunction", &function);
    lib.Find("cuLaunchKernel", &launch);
    if (!load || !unload || !function || !launch)
      Fail(Cause::kResource, "libcuda.so.1 lacks what kernels are loaded with; update the driver, or use packed");
  }
};
const Driver& Cuda() {
  static const Driver* const driver = new Driver;
  return *driver;
}

// Throws unless the call succeeded. The driver's errors have the numbers of the runtime's.
void Fine(CUresult r, const char* call) { Check(int(r), call); }

}  // namespace

std::string CompilerName() {
  if (!Compiler().there) return "";
  int major = 0, minor = 0;
  (void)Compiler().version(&major, &minor);
  return Str("nvrtc ", major, ".", minor);
}

Bytes Compile(const std::string& text, std::span<const std::pair<const char*, const char*>> headers,
              const std::string& architecture) {
  const Nvrtc& nvrtc = Compiler();
  SUF_CHECK(nvrtc.there);
  std::vector<const char*> names, texts;
  for (const auto& [name, header] : headers) {
    names.push_back(name);
    texts.push_back(header);
  }
  const std::string arch = "-arch=" + architecture;
  const char* const options[] = {arch.c_str(), "-std=c++20", "-default-device", "-w"};
  Nvrtc::Program program = nullptr;
  int e = nvrtc.create(&program, text.c_str(), "group.cu", int(names.size()), texts.data(), names.data());
  if (!e) e = nvrtc.compile(program, std::size(options), options);
  size_t bytes = 0;
  Bytes code;
  if (!e) e = nvrtc.size(program, &bytes);
  if (!e) {
    code.resize(bytes);
    e = nvrtc.code(program, reinterpret_cast<char*>(code.data()));
  }
  std::string log;
  if (e && program && !nvrtc.log_size(program, &bytes)) {
    log.resize(bytes);
    (void)nvrtc.log(program, log.data());
  }
  if (program) (void)nvrtc.destroy(&program);
  if (e) Fail(Cause::kRefused, "a kernel does not compile for ", architecture, ": ", log.substr(0, log.find('\n', 1)));
  return code;
}

Module::Module(View code, const char* kernel) {
  Fine(Cuda().load(&module_, code.data()), "cuModuleLoadData()");
  Fine(Cuda().function(&kernel_, module_, kernel), "cuModuleGetFunction()");
}
Module::~Module() {
  if (module_) (void)Cuda().unload(module_);
}

void Module::Launch(View params, unsigned blocks, unsigned threads, StreamHandle s) const {
  size_t bytes = params.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<uint8_t*>(params.data()), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &bytes, CU_LAUNCH_PARAM_END};
  CountLaunch();
  Fine(Cuda().launch(kernel_, blocks, 1, 1, threads, 1, 1, 0, s, nullptr, extra), "cuLaunchKernel()");
}

}  // namespace suf::exec::cuda
