// The compiler of the device double, which accepts every text but one. A launched kernel is first compiled for the
// host, with the device's text and row functions. It runs lane by lane (lanes.hpp).
#include "tests/double/compiler.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>

#include "suf/base/error.hpp"
#include "suf/base/folder_test.hpp"
#include "suf/exec/cuda/compile.hpp"
#include "suf/gpu/cuda/groups/printer.hpp"

struct CUmod_st {
  std::string text;
};

namespace suf::exec::cuda {

std::atomic<int> compiled{0}, printed{0};
std::atomic<bool> compiles{true};

std::string CompilerName() { return compiles ? "a double" : ""; }
Bytes Compile(const std::string& text, std::span<const std::pair<const char*, const char*>>, const std::string&) {
  ++compiled;
  if (text == kBadText) Fail(Cause::kRefused, "it does not compile");
  return {text.begin(), text.end()};
}

namespace {

using Kernel = void (*)(const void* params, unsigned blocks, unsigned threads);

// The kernel of a text, compiled once.
Kernel KernelOf(const std::string& text) {
  static std::mutex m;
  static std::map<std::string, Kernel> all;
  std::lock_guard l(m);
  Kernel& kernel = all[text];
  if (kernel) return kernel;
  const Scratch dir;
  const std::string source = dir / "kernel.cpp", library = dir / "kernel.so";
  std::ofstream(source) << "#include \"tests/double/lanes.hpp\"\n"
                        << text << "extern \"C\" void run(const void* p, unsigned blocks, unsigned threads) {\n"
                        << "  suf::lanes::Run(blocks, threads, [](const void* q) { " << gpu::cuda::kKernel
                        << "(*static_cast<const Params*>(q)); }, p);\n}\n";
  const std::string command =
      Str(SUF_DOUBLE_CXX " -w -O0 -std=c++20 -shared -fPIC -I" SUF_DOUBLE_SOURCE " -o ", library, " ", source);
  SUF_CHECK(std::system(command.c_str()) == 0);
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  SUF_CHECK(loaded);
  kernel = reinterpret_cast<Kernel>(dlsym(loaded, "run"));
  SUF_CHECK(kernel);
  return kernel;
}

}  // namespace

Module::Module(View code, const char*) : module_(new CUmod_st{{code.begin(), code.end()}}) {}
Module::~Module() { delete module_; }
void Module::Launch(View params, unsigned blocks, unsigned threads, StreamHandle s) const {
  ++printed;
  Do(s, [kernel = KernelOf(module_->text), p = Bytes(params.begin(), params.end()), blocks, threads] {
    static std::mutex one;  // one kernel uses the lanes at a time
    std::lock_guard l(one);
    kernel(p.data(), blocks, threads);
  });
}

}  // namespace suf::exec::cuda
