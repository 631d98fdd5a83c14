#include "suf/gates/compose/registry.hpp"

#include <algorithm>
#include <cctype>
#include <mutex>

#include "suf/gates/compose/entries.hpp"

namespace suf::gates {

namespace {

struct GateTable {
  std::mutex m;
  std::vector<std::unique_ptr<const GateEntry>> entries;
  std::vector<std::unique_ptr<const GateEntry>> replaced;  // uses may still refer to them
};
GateTable& Table() {
  static GateTable table;
  return table;
}

void Add(std::unique_ptr<const GateEntry> entry) {
  GateTable& table = Table();
  std::lock_guard l(table.m);
  for (auto& e : table.entries)
    if (e->facts.name == entry->facts.name) {
      std::swap(e, entry);
      table.replaced.push_back(std::move(entry));
      return;
    }
  table.entries.push_back(std::move(entry));
}

// Registers the library's own gates once.
void RegisterOwn() {
  static std::once_flag once;
  std::call_once(once, [] {
    RegisterShifts();
    RegisterChoices();
    RegisterFunctions();
    RegisterProducts();
    RegisterLinear();
    RegisterBits();
  });
}

// Returns the letters that one name has and the other lacks, counted by position.
size_t Distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t corner = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = corner + (a[i - 1] != b[j - 1]);
      corner = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

void RegisterLibraryGate(std::unique_ptr<const GateEntry> entry) { Add(std::move(entry)); }

std::vector<SingleGate> GateEntry::Samples(int bits) const {
  SingleGate use{.bits = bits};
  for (const GateParameter& p : facts.parameters)
    if (!p.fallback)
      use.set.push_back({p.name, p.choices.empty() ? Str(std::clamp<int64_t>(2, p.low, p.high)) : p.choices[0]});
  return {use};
}

void Register(std::unique_ptr<const GateEntry> entry) {
  RegisterOwn();
  Add(std::move(entry));
}

std::vector<const GateEntry*> All() {
  RegisterOwn();
  GateTable& table = Table();
  std::lock_guard l(table.m);
  std::vector<const GateEntry*> out;
  for (const auto& e : table.entries) out.push_back(e.get());
  return out;
}

const GateEntry& GateNamed(const std::string& name) {
  std::string small = name;
  std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  std::vector<const GateEntry*> all = All();
  for (const GateEntry* e : all)
    if (e->facts.name == small) return *e;
  std::stable_sort(all.begin(), all.end(), [&](const GateEntry* a, const GateEntry* b) {
    return Distance(a->facts.name, small) < Distance(b->facts.name, small);
  });
  std::string near;
  for (size_t i = 0; i < std::min<size_t>(3, all.size()); ++i) near += (i ? ", " : "") + all[i]->facts.name;
  Fail(Cause::kInput, Quoted(name), " is no gate; near it are ", near);
}

}  // namespace suf::gates
