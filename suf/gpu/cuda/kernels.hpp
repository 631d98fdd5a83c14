// Printed kernels as machine code: compiled once a text and architecture, in parallel, and kept in memory and in a
// folder of the user's. A file there says in its head what it was made of, by a digest: one that was altered, or is of
// another build or compiler, is made again and never executed.
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

// Texts' machine code, without a device: from the folder, or compiled.
class Codes {
 public:
  // folder: empty: nothing is kept. architecture: as in "sm_90".
  Codes(std::string folder, std::string architecture)
      : folder_(std::move(folder)), architecture_(std::move(architecture)) {}
  // From the folder; empty where it is not there. Get: else compiled; empty where there is no compiler, or it
  // does not compile.
  Bytes Find(const std::string& text) const;
  Bytes Get(const std::string& text) const;
  const std::string& architecture() const { return architecture_; }

 private:
  std::string folder_, architecture_;
};

// Of one device. What the folder lacks is compiled into it behind the back of the runs, which go on with the
// interpreter: minutes of a core in a session would be silence to the peer.
class Kernels {
 public:
  // waits: Load compiles what is missing before it returns.
  Kernels(Codes codes, int device, bool waits) : codes_(std::move(codes)), device_(device), waits_(waits) {}
  ~Kernels();
  // Modules of texts, in their order; null where there is no code yet: the interpreter's. compiles: whether what
  // is missing will be.
  std::vector<const exec::cuda::Module*> Load(const std::vector<std::string>& texts, bool compiles = true);
  // Why texts that Load gave no module for will have none: no compiler here, or they do not compile. Empty:
  // there are none, or they are being compiled.
  std::string Lacks(const std::vector<std::string>& texts);
  // filled: how often a compilation behind the runs has ended: whoever lacks kernels asks again when it has grown.
  int filled() const { return filled_; }

 private:
  void Fill(std::vector<std::string> texts);
  const Codes codes_;
  const int device_;
  const bool waits_;
  std::mutex m_;
  std::map<std::string, std::unique_ptr<exec::cuda::Module>> modules_;
  std::set<std::string> tried_;  // texts that were compiled, well or not
  std::set<std::string> bad_;    // not well
  std::thread filler_;
  std::atomic<bool> filling_{false}, stop_{false};
  std::atomic<int> filled_{0};
};

}  // namespace suf::gpu::cuda
