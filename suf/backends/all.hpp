// The backends by name: the one list that programs and tests read.
#pragma once
#include <functional>

#include "suf/exec/pools.hpp"
#include "suf/pfss/backend.hpp"

namespace suf::backends {

// A backend that Make can make.
struct BackendEntry {
  std::string name;
  pfss::Capabilities can;
  std::function<std::unique_ptr<pfss::Backend>(const exec::Pools&)> make;
  bool built = true;
  std::string why_not = {};  // why it does not run here, and which one does: a sentence; empty if it runs
  bool models = true;        // runs models, not only plans of functions
  bool variant = false;      // packed with kernels by name, for tests and measurements
};
// Returns all backends; `device` is the number of cuda's device.
std::vector<BackendEntry> All(int device = 0);
// Returns the backends that run here, without variants. With `models`, those that also run models. Their keys and words
// are the same, so any role may run on any of them.
std::vector<BackendEntry> Usable(bool models = true);

// Returns a backend by name; `auto` is cuda if the device can be used, otherwise packed. Throws Cause::kInput for an
// unknown name, or with `models` for a backend that runs only plans of functions. Throws Cause::kResource for one that
// does not run here.
BackendEntry Find(const std::string& name, bool models = false, int device = 0);
// Makes the backend that Find finds. Backends on the processor lease a pool for each run.
std::unique_ptr<pfss::Backend> Make(const std::string& name, const exec::Pools& pools = exec::DefaultPools());

}  // namespace suf::backends
