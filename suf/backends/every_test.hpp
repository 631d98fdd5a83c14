// Every backend that runs models here, for the tests of all modules. A test that names none takes them in turn, role by
// role, so each of its runs combines different backends.
#pragma once
#include <array>

#include "suf/backends/all.hpp"

namespace suf::backends {

inline std::vector<std::unique_ptr<pfss::Backend>> Every(exec::Pool& pool = exec::Default()) {
  std::vector<std::unique_ptr<pfss::Backend>> out;
  for (const BackendEntry& e : Usable()) out.push_back(e.make(pool));
  return out;
}

// Returns the backends of P0, P1 and the dealer in this turn.
inline std::array<pfss::Backend*, 3> InTurn(const std::vector<std::unique_ptr<pfss::Backend>>& every, size_t turn) {
  std::array<pfss::Backend*, 3> out;
  for (size_t role = 0; role < 3; ++role) out[role] = every[(turn + role) % every.size()].get();
  return out;
}

}  // namespace suf::backends
