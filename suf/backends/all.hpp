// The backends there are, by name: the one list that programs and tests read.
#pragma once
#include <functional>

#include "suf/exec/pool.hpp"
#include "suf/pfss/backend.hpp"

namespace suf::backends {

// One that Make makes.
struct Entry {
  std::string name;
  pfss::Capabilities can;
  std::function<std::unique_ptr<pfss::Backend>(exec::Pool&)> make;
  bool built = true;
  std::string why_not = {};  // why it does not run here, and what does: a sentence; empty where it runs
  bool models = true;        // runs models; else plans of functions alone
  bool variant = false;      // packed with kernels by name, for tests and measurements
};
// device: that of cuda, by its number.
std::vector<Entry> All(int device = 0);
// Those that run here, without variants. models: those that run models, too, whose keys and words are the same:
// any role may take any of them.
std::vector<Entry> Usable(bool models = true);

// By name; `auto` is cuda where the device can be used, else packed. Throws Cause::kInput for a name that none
// has, and for one that runs plans of functions alone where models are asked for; Cause::kResource for one that does
// not run here.
Entry Find(const std::string& name, bool models = false, int device = 0);
// Of what Find finds.
std::unique_ptr<pfss::Backend> Make(const std::string& name, exec::Pool& pool = exec::Default());

}  // namespace suf::backends
