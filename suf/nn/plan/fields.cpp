#include "suf/nn/plan/fields.hpp"

#include <algorithm>
#include <bit>

#include "suf/base/error.hpp"
#include "suf/ring/modular.hpp"

namespace suf::nn {

namespace {

constexpr int kRingBits = 64;  // ring of every function in a plan; its reader names the ring that it wants

int BitsFor(size_t n) {
  int bits = 1;
  while (size_t{1} << bits < n) ++bits;
  return bits;
}

std::vector<func::Octave> GroupsOf(const char* name, const func::Suf& f) {
  try {
    return func::ToGroups(f);
  } catch (const Error& e) {
    Fail(Cause::kRefused, "the plan's function ", name, " has the wrong form: ", e.what(), "; compile the plan again");
  }
}

// Returns the entries a piece of a table: 1 unless it has more entries than a function has pieces.
size_t Across(size_t entries) {
  size_t across = 1;
  while (across < size_t(func::kMostOutputs) && (entries > across * func::kMostPieces || entries % across)) ++across;
  return across;
}

// Reads pieces of one width around zero and one line on each side. Returns whether the function has this form.
bool ReadSides(const func::Suf& f, func::Lines* lines) {
  constexpr size_t kSides = 2, kLeast = 4;  // with fewer pieces the form could also be a grid
  if (f.pieces.size() < kLeast + kSides || f.n < 3 || f.n > 62 || f.end != func::U128{1} << f.n) return false;
  const size_t count = f.pieces.size() - kSides;
  const func::U128 half = func::U128{1} << (f.n - 1), width = f.pieces[2].begin - f.pieces[1].begin;
  if (!std::has_single_bit(count) || width > half || !std::has_single_bit(uint64_t(width))) return false;
  const func::U128 core = width * count / 2;
  if (core >= half) return false;
  for (size_t i = 0; i <= count; ++i)
    if (f.pieces[i + 1].begin != half - core + width * i) return false;
  lines->a = std::countr_zero(uint64_t(width));
  lines->bits = f.n;
  return true;
}

}  // namespace

size_t Visitor::Place(const char* name, size_t at, std::span<const char* const> names, const char* said) {
  std::string text = names[at];
  Text(name, &text, 8);
  if (!fills()) return at;
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end())
    Fail(Cause::kRefused, "the plan ", said, text, ", which this program does not know; update it");
  return size_t(found - names.begin());
}

void Visitor::Stages(const char* name, compiler::Stages* stages, compiler::Stages least) {
  int count = int(*stages);
  Int(name, count, int(least), 3);
  *stages = compiler::Stages(count);
}

void Visitor::Lowering(const char* name, compiler::Lowering* lowering) {
  std::string text = compiler::Name(*lowering);
  Text(name, &text, 40);
  if (!fills()) return;
  const std::optional<compiler::Lowering> found = compiler::NumbersNamed(text);
  if (!found)
    Fail(Cause::kRefused, "the plan's field ", name, " is ", text, ", which names no lowering; compile the plan again");
  *lowering = *found;
}

void Visitor::Octaves(const char* name, std::vector<func::Octave>* groups, int n) {
  func::Suf f;
  const int bits = std::min(n, 62);
  if (sees()) f = func::FromGroups("octaves", *groups, bits, kRingBits);
  Function(name, &f);
  if (!fills()) return;
  if (f.end > func::U128{1} << bits)
    Fail(Cause::kRefused, "the plan's function ", name, " ends after 2^", bits,
         ", which no number that it reads reaches; compile the plan again");
  *groups = GroupsOf(name, f);
}

void Visitor::Table(const char* name, Ints* entries) {
  func::Suf f;
  if (sees()) {
    const size_t across = Across(entries->size());
    Ints first;  // the first entry of each piece
    for (size_t i = 0; i < entries->size(); i += across) first.push_back((*entries)[i]);
    const func::Octave all{0, 0, int64_t(first.size()), first};
    f = func::FromGroups("table", {&all, 1}, BitsFor(first.size()), kRingBits);
    f.outputs = int(across);
    for (size_t i = 0; i < entries->size(); ++i)
      if (i % across) f.pieces[i / across].poly.push_back({uint64_t((*entries)[i])});
  }
  Function(name, &f);
  if (!fills()) return;
  if (f.outputs > 1 && f.degree == 0 && f.end == f.pieces.size()) {  // as many pieces as points: each piece is one
    entries->clear();
    for (const func::Piece& p : f.pieces)
      for (const auto& c : p.poly) entries->push_back(int64_t(c[0]));
    return;
  }
  std::vector<func::Octave> groups = GroupsOf(name, f);
  if (groups.size() != 1 || groups[0].w != 0)
    Fail(Cause::kRefused, "the plan's function ", name, " is no table of single places; compile the plan again");
  *entries = std::move(groups[0].values);
}

void Visitor::Lines(const char* name, func::Lines* lines) {
  func::Suf f;
  if (sees()) f = func::ToSuf(*lines, "lines", kRingBits);
  Function(name, &f);
  if (fills()) {
    *lines = {0, lines->scale, lines->slope, {}, {}};
    const std::optional<int> a = func::UniformBits(f);
    if (f.outputs != 1 || f.degree > 1 || (!a && !ReadSides(f, lines)))
      Fail(Cause::kRefused, "the plan's function ", name, " is not made of lines of one width; compile the plan again");
    if (a) lines->a = *a;
    for (const func::Piece& p : f.pieces) {
      const func::SideLine line{ring::Signed(p.poly[0][0], f.ring), f.degree ? ring::Signed(p.poly[0][1], f.ring) : 0};
      if (lines->bits > 0 && &p == &f.pieces.front()) {
        lines->below = line;
      } else if (lines->bits > 0 && &p == &f.pieces.back()) {
        lines->above = line;
      } else {
        lines->offset.push_back(line.offset);
        lines->rise.push_back(line.rise);
      }
    }
  }
  Int("input_scale", lines->scale, 0, 62);
  Int("slope", lines->slope, 0, 62);
}

}  // namespace suf::nn
