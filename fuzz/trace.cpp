// Fuzzes a plan that no honest compiler writes. The input is a list of {u16 which, i64 value}; each value replaces one
// parameter of fuzz/plan.json. A change that Check refuses is undone, so the next one meets a sound plan. The final
// plan is emitted as a trace and scheduled, as each role does before it connects.
#include "fuzz/base_plan.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/pfss/schedule.hpp"
#include "suf/ring/modular.hpp"

namespace {
using namespace suf;

// A visitor that sets field number `which`.
class Patch : public nn::Visitor {
 public:
  Patch(size_t which, int64_t value) : left_(which), value_(value) {}
  bool fills() const override { return true; }
  bool sees() const override { return true; }
  void Whole(const char*, int64_t* x, int64_t lo, int64_t hi) override {
    if (!Mine()) return;
    const uint64_t count = uint64_t(hi) - uint64_t(lo) + 1;  // the plan's reader refuses values out of range
    *x = value_ >= lo && value_ <= hi ? value_ : int64_t(uint64_t(lo) + (count ? uint64_t(value_) % count : 0));
  }
  void Real(const char*, double*, double, double) override {}
  void Flag(const char*, bool*) override {}
  void Text(const char*, std::string*, size_t) override {}
  void AnyText(const char*, std::string*, size_t) override {}
  void Many(const char*, nn::Ints* x, size_t most, int64_t lo, int64_t hi) override {
    if (Mine()) x->resize(std::min(most, size_t(value_ & 0xfff)), std::clamp(value_ >> 12, lo, hi));
  }
  void Weight(const char*, nn::Expr*, bool) override {}
  // Resizes the function; the low 12 bits are the number of pieces, each as wide as the first.
  void Function(const char*, func::Suf* f) override {
    if (!Mine()) return;
    const size_t n = std::max(size_t(value_ & 0xfff), size_t{1});
    const func::U128 width = (f->pieces.size() > 1 ? f->pieces[1].begin : f->end) - f->pieces[0].begin;
    f->pieces.resize(n, f->pieces[0]);
    for (size_t i = 0; i < n; ++i) {
      f->pieces[i].begin = width * i;
      if (i % 5 == 0) f->pieces[i].poly[0][0] = uint64_t(value_ >> 12) & ring::Mask(f->ring);
    }
    f->end = width * n;
    func::Verify(*f);
  }
  void List(const char*, size_t size, size_t, const std::function<void(size_t)>&,
            const std::function<void(nn::Visitor&, size_t)>& item) override {
    for (size_t i = 0; i < size; ++i) item(*this, i);
  }
  size_t left() const { return left_; }

 private:
  bool Mine() {
    if (done_ || left_-- != 0) return false;
    left_ = 0;
    return done_ = true;
  }
  size_t left_;
  int64_t value_;
  bool done_ = false;
};

constexpr int kMostPatches = 32;

void Visit(Patch& patch, nn::Plan& plan) {
  for (nn::Class& c : plan.classes)
    for (nn::OperatorPtr& op : c.ops) {
      patch.Int("ring", op->ring, 1, nn::kRing);
      patch.Int("scale", op->scale, 0, 126);
      op->Fields(patch);
    }
}
}  // namespace

SUF_FUZZ(trace) {
  static const nn::Plan& base = fuzz::BasePlan();
  static const size_t fields = [] {
    nn::Plan copy = base;
    Patch all(~size_t{0}, 0);
    Visit(all, copy);
    SUF_CHECK(fuzz::Quietly([&] { nn::Check(copy); }));  // changing nothing leaves a sound plan
    return ~size_t{0} - all.left();
  }();
  nn::Plan plan = base;
  for (int i = 0; i < kMostPatches && !input.empty(); ++i) {
    const size_t which = fuzz::Pull<uint16_t>(input) % fields;
    Patch one(which, fuzz::Pull<int64_t>(input));
    nn::Plan next = plan;
    const bool holds = fuzz::Quietly([&] {
      Visit(one, next);
      nn::Check(next);
    });
    if (holds) plan = std::move(next);
  }
  for (nn::Class& c : plan.classes) nn::Derive(plan.graph, c.ops);
  pfss::Trace t;
  nn::Build(t, plan, 3);
  pfss::Schedule s(t);
  SUF_CHECK(s.key_bytes(0) >= 0 && s.key_bytes(1) >= 0);
}
