#include "suf/nn/ops/cover.hpp"

#include <algorithm>

namespace suf::nn {

gates::Function RowOf(const std::vector<func::Group>& groups, int domain, int ring) {
  return {compiler::OnOctaves("row", groups, domain, 64), {compiler::Kind::kRowLut}, {}, ring};
}

void WantCover(const std::vector<func::Group>& groups, int ring, int value_bits, const std::string& where) {
  Wanted(ring < 62, where, "the table's domain must be below 2^62");
  int64_t end = 0;
  for (const func::Group& g : groups) {
    Wanted(g.w < 62 && g.lo < g.hi && g.hi <= int64_t{1} << (62 - g.w), where,
           "a group of pieces is empty or too wide");
    Wanted(g.lo << g.w == end, where, "the groups of pieces leave a hole or overlap");
    Wanted(g.values.size() == size_t(g.hi - g.lo), where, "a group does not have one value a piece");
    for (int64_t x : g.values)
      Wanted(x >= 0 && (value_bits >= 63 || x >> value_bits == 0), where,
             "a table value is negative or exceeds its ring");
    end = g.hi << g.w;
  }
  Wanted(end == int64_t{1} << ring, where, "the table does not cover its ring");
}

void WantGap(func::U128 most, int ring, const std::string& where, const char* what) {
  Wanted(ring >= 3 && most >> (ring - 2) == 0, where, what);
}

}  // namespace suf::nn
