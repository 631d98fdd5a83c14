// A plan that no honest compiler writes: a list of {u16 which, i64 value}, each put in place of one field of
// fuzz/plan.json or making one of its lists longer or shorter. What Check accepts is emitted as a trace and scheduled,
// as each role does before it connects.
#include "fuzz/fuzz.hpp"
#include "suf/nn/build.hpp"
#include "suf/nn/internal/fields.hpp"
#include "suf/pfss/schedule.hpp"

namespace {
using namespace suf;

// Patch: sets field number `which`; `done` when it was found.
class Patch {
 public:
  Patch(size_t which, int64_t value) : left_(which), value_(value) {}
  void Int(const char* name, auto& x, int64_t lo, int64_t hi) {
    if (!Mine()) return;
    if (value_ < lo || value_ > hi) Fail(Cause::kRefused, name, " is out of range");  // as the reader says
    x = std::remove_reference_t<decltype(x)>(value_);
  }
  void Real(const char*, double&, double, double) {}
  void Flag(const char*, bool&) {}
  void Text(const char*, const std::string&, size_t) {}
  void Digest(const char*, Hash&) {}
  void Ints(const char* name, std::vector<int64_t>& x, int64_t lo, int64_t hi) {
    if (Mine()) Table(name, x, std::clamp(value_ >> 12, lo, hi));
  }
  void Table(const char* name, std::vector<int64_t>& x) {
    if (Mine()) Table(name, x, std::clamp(value_ >> 12, -nn::kBig, nn::kBig));
  }
  void One(const char*, auto& x) { nn::Fields(*this, x); }
  void Many(const char*, auto& list, size_t least, size_t) {
    if (Mine()) list.resize(std::max(least, size_t(value_ & 3)), list.front());
    for (auto& x : list) nn::Fields(*this, x);
  }
  void Dict(const char*, auto&) {}
  bool done() const { return done_; }
  size_t left() const { return left_; }

 private:
  bool Mine() { return !done_ && left_-- == 0 ? (left_ = 0, done_ = true) : false; }
  // Table: the low 12 bits are the new length.
  void Table(const char*, std::vector<int64_t>& x, int64_t entry) { x.resize(size_t(value_ & 0xfff), entry); }
  size_t left_;
  int64_t value_;
  bool done_ = false;
};
}  // namespace

SUF_FUZZ(trace) {
  static const nn::Plan base = [] { return nn::Parse(fuzz::TextOf(fuzz::ReadFrom(SUF_FUZZ_DIR "/plan.json"))); }();
  static const size_t fields = [] {
    nn::Plan copy = base;
    Patch all(~size_t{0}, 0);
    nn::Fields(all, copy);
    return ~size_t{0} - all.left();
  }();
  nn::Plan plan = base;
  while (!input.empty()) {
    size_t which = fuzz::Pull<uint16_t>(input) % fields;
    Patch one(which, fuzz::Pull<int64_t>(input));
    nn::Fields(one, plan);
  }
  nn::Check(plan);
  if (plan.dims.layers > 2) return;  // more of the same
  pfss::Trace t;
  nn::Build(t, plan, 3);
  pfss::Schedule s(t);
  SUF_CHECK(s.key_bytes(0) >= 0 && s.key_bytes(1) >= 0);
}
