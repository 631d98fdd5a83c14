// Printed kernels as machine code: compiled once a text and architecture, in parallel, and kept in memory and in a
// folder of the user's. A file there says in its head what it was made of, by a digest: one that was altered, or is of
// another build or compiler, is made again and never executed.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "suf/exec/cuda/compile.hpp"
#include "suf/exec/pool.hpp"

namespace suf::backends::cuda {

// Codes: texts' machine code, without a device: from the folder, or compiled.
class Codes {
 public:
  // folder: empty: nothing is kept. architecture: as in "sm_90".
  Codes(std::string folder, std::string architecture)
      : folder_(std::move(folder)), architecture_(std::move(architecture)) {}
  // Get: empty where a text is not in the folder and there is no compiler, or it does not compile.
  Bytes Get(const std::string& text) const;
  const std::string& architecture() const { return architecture_; }

 private:
  std::string folder_, architecture_;
};
// KernelFolder: where programs keep kernels: suf/kernels in the user's cache; empty where no such folder is named.
std::string KernelFolder();

// Kernels: of the current device.
class Kernels {
 public:
  explicit Kernels(Codes codes) : codes_(std::move(codes)) {}
  // Load: modules of texts, in their order; null where there is no code: the interpreter's.
  std::vector<const exec::cuda::Module*> Load(const std::vector<std::string>& texts, int device);

 private:
  const Codes codes_;
  std::mutex m_;
  std::map<std::string, std::unique_ptr<exec::cuda::Module>> modules_;
};

}  // namespace suf::backends::cuda
