// Printed kernels as machine code. A text is compiled once per architecture, in parallel, and kept in memory and in a
// folder of the user. A file there begins with a digest of everything it was made from. If it was altered or belongs to
// another build or compiler, it is made again and never executed.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "suf/exec/cuda/compile.hpp"
#include "suf/exec/pool.hpp"

namespace suf::gpu::cuda {

// Machine code of texts, from the folder or compiled; needs no device.
class Codes {
 public:
  // Takes the folder, empty to keep nothing, and the architecture, as in "sm_90".
  Codes(std::string folder, std::string architecture)
      : folder_(std::move(folder)), architecture_(std::move(architecture)) {}
  // Returns the code from the folder; empty if it is not there.
  Bytes Find(const std::string& text) const;
  // Returns the code from the folder, or compiles it. Empty if there is no compiler or the text does not compile.
  Bytes Get(const std::string& text) const;
  const std::string& architecture() const { return architecture_; }

 private:
  std::string folder_, architecture_;
};

// The kernels of one device. Code that the folder lacks is compiled into it in the background. Meanwhile runs use the
// interpreter. Minutes of compilation in a session would be silence for the peer.
class KernelCache {
 public:
  // If `waits` is set, Load compiles missing code before it returns.
  KernelCache(Codes codes, int device, bool waits) : codes_(std::move(codes)), device_(device), waits_(waits) {}
  ~KernelCache();
  // Returns the modules of texts, in their order; null if there is no code yet. The interpreter runs such a text.
  // `compiles` says whether missing code is compiled.
  std::vector<const exec::cuda::Module*> Load(const std::vector<std::string>& texts, bool compiles = true);
  // Returns why some texts without modules will have none: no compiler, or compilation errors. Empty if there are no
  // such texts or they are being compiled.
  std::string Lacks(const std::vector<std::string>& texts);
  // Returns the number of finished background compilations. If it has grown, callers load their missing kernels again.
  int filled() const { return filled_; }

 private:
  void Fill(std::vector<std::string> texts);
  const Codes codes_;
  const int device_;
  const bool waits_;
  std::mutex m_;
  std::map<std::string, std::unique_ptr<exec::cuda::Module>> modules_;
  std::set<std::string> tried_;  // texts that were compiled, with or without success
  std::set<std::string> bad_;    // texts that do not compile
  std::thread filler_;
  std::atomic<bool> filling_{false}, stop_{false};
  std::atomic<int> filled_{0};
};

}  // namespace suf::gpu::cuda
