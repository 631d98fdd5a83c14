// The backends there are, by name: the one list that programs and tests read.
#pragma once
#include <functional>

#include "suf/exec/pool.hpp"
#include "suf/pfss/backend.hpp"

namespace suf::backends {

// Entry: one that Make makes.
struct Entry {
  std::string name;
  pfss::Capabilities can;
  std::function<std::unique_ptr<pfss::Backend>(exec::Pool&)> make;
  bool built = true;
  std::string why_not = {};  // why it does not run here, as in "NAME needs ..", and what does; empty where it runs
  bool models = true;        // runs models; else plans of functions alone
  bool variant = false;      // packed with kernels by name, for tests and measurements
};
std::vector<Entry> All();
// Usable: those that run here, without variants. models: those that run models, too, whose keys and words are the same:
// any role may take any of them.
std::vector<Entry> Usable(bool models = true);

// Make: by name; `auto` is packed. Throws Cause::kInput for a name that none has, Cause::kResource for one that does
// not run here.
std::unique_ptr<pfss::Backend> Make(const std::string& name, exec::Pool& pool = exec::Default());
// MakeForModels: and Cause::kInput for one that runs plans of functions alone.
std::unique_ptr<pfss::Backend> MakeForModels(const std::string& name, exec::Pool& pool = exec::Default());

}  // namespace suf::backends
