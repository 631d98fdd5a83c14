// SmallRun: a trace with a rescale, a product, a table read by DPFs, a maximum, an extension and an activation. It
// holds the honest run of this trace under fixed masks, from which seeds are made.
#pragma once
#include "suf/backends/every_test.hpp"
#include "suf/func/suf.hpp"
#include "suf/gates/function.hpp"
#include "suf/gates/maximum.hpp"
#include "suf/gates/product.hpp"
#include "suf/gates/trunc.hpp"
#include "suf/run/pair.hpp"

namespace suf::fuzz {

class SmallRun {
 public:
  static constexpr int kBits = 20;
  static constexpr size_t kWords = 4;

  SmallRun() {
    Emit();
    schedule_.emplace(trace_);
    SUF_CHECK(pfss::UnusedMessages(*schedule_).empty());  // a value that no result needs would never be computed
    inputs_[1].Set("x", std::vector<int64_t>{100, 2000, 31, 7});
    for (int p : {0, 1}) {
      pfss::BundleSecrets own{{}, secrets_.rho};
      own.key[size_t(p)].emplace(secrets_.key[size_t(p)]->view());
      randomness_[p] = backends_[0]->Expand(std::move(own));
    }
    honest_ =
        run::RunPair({*schedule_, backends::InTurn(backends_, 0), {&inputs_[0], &inputs_[1], &inputs_[2]}, secrets_});
  }
  const pfss::Schedule& schedule() const { return *schedule_; }
  // A backend that runs models; any number chooses one.
  pfss::Backend& backend(size_t which) { return *backends_[which % backends_.size()]; }
  const pfss::Randomness& randomness(int party) const { return *randomness_[party]; }
  run::Inputs& inputs(int party) { return inputs_[party]; }
  const run::PairRun& honest() const { return honest_; }

 private:
  void Emit() {
    using namespace gates;
    Trace& t = trace_;
    pfss::Own<1> x = t.input<pfss::kP1>("x", {4}, 64, 0);
    SharedWire<kPub> z = t.give<1>(x, 24, "x");
    SharedWire<kPub> y = OpenShared(t, Trunc{.shift = 4, .ring = 20}.Build(t, z), "rescaled");
    OwedWord square = Product(y, y, [](auto a, auto b) { return a * b; });
    std::vector<func::Octave> groups{{0, 0, 16, Ints(16, 3)}, {1, 8, 16, Ints(8, 5)}};
    using compiler::Kind;
    FunctionGate row{compiler::OnOctaves("row", groups, kBits, kBits), {Kind::kRowLut}, {}, kBits};
    Sh root = compiler::DealOwed(t, row.Build(t, y));
    SharedWire<kPub> small = OpenShared(t, gates::Slice{.begin = 4, .end = 7, .ring = 5}.Build(t, z), "digit");
    SharedWire<kPub> most = OpenShared(t, Maximum{0, 3}.Build(t, small), "maximum");
    Sh wide = compiler::DealOwed(t, Extend{kBits}.Build(t, most));
    Ints rise(8, 1), offset(8, 2);
    const compiler::CompiledFunction pieces = compiler::Compile(func::Uniform("lines", 3, offset, rise, 64));
    Sh lines = compiler::DealOwed(t, FunctionGate{pieces, {Kind::kWindowLut}, SignedEntry(24, 18), kBits}.Build(t, z));
    Sh sum = compiler::DealOwed(t, square);
    sum = sum + root;
    sum = sum + lines;
    sum = sum + wide;
    t.reveal<1>(sum);
    t.close();
  }

  exec::Pool pool_{1};
  std::vector<std::unique_ptr<pfss::Backend>> backends_ = backends::Every(pool_);
  pfss::Trace trace_;
  std::optional<pfss::Schedule> schedule_;
  run::Inputs inputs_[3];
  pfss::BundleSecrets secrets_{{Secret(Hash{1}), Secret(Hash{2})}, Hash{3}};
  std::unique_ptr<pfss::Randomness> randomness_[2];
  run::PairRun honest_;
};

}  // namespace suf::fuzz
