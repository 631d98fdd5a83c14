// A P0 that alters its messages, against plans by which it learns a result of P1's values. By lowerings without a
// steering it learns F at an input of its own choice. By the others it learns more (docs/mathematics.md#steering).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "suf/cpu/packed.hpp"
#include "suf/exec/pool.hpp"
#include "suf/func/text.hpp"
#include "suf/gates/function_plan.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/ring/modular.hpp"
#include "suf/run/pair.hpp"

namespace suf::gates {
namespace {

using pfss::Op;
using pfss::Trace;
using Words = std::vector<uint64_t>;

// P0's randomness with one bit of every word of one section flipped. The section is the pad of an opening, so the same
// bits of the opening flip.
class Flipped : public pfss::Randomness {
 public:
  Flipped(std::unique_ptr<Randomness> own, int section, int word_bytes, int bit)
      : own_(std::move(own)), section_(section), word_(word_bytes), bit_(bit) {}
  std::unique_ptr<SectionReader> SectionAt(int party, int section) const override {
    std::unique_ptr<SectionReader> s = own_->SectionAt(party, section);
    if (party != 0 || section != section_) return s;
    return std::make_unique<Altered>(std::move(s), word_, bit_);
  }
  std::array<uint8_t, 16> TreeKey() const override { return own_->TreeKey(); }

 private:
  class Altered : public SectionReader {
   public:
    Altered(std::unique_ptr<SectionReader> own, int word, int bit) : own_(std::move(own)), word_(word), bit_(bit) {}
    void Fill(uint64_t offset, std::span<uint8_t> out) const override {
      own_->Fill(offset, out);
      for (size_t i = 0; i < out.size(); ++i)
        if (int((offset + i) % uint64_t(word_)) == bit_ / 8) out[i] ^= uint8_t(1 << bit_ % 8);
    }

   private:
    std::unique_ptr<SectionReader> own_;
    const int word_, bit_;
  };
  std::unique_ptr<Randomness> own_;
  const int section_, word_, bit_;
};

// A message of P0 that is an opening, and the section of its pad.
struct Opening {
  int message, section;
  pfss::Ring ring;
  size_t frame;
  pfss::FrameField part;
};

// Runs of one plan between two parties, with the same keys each time.
class Attack {
 public:
  Attack(const FunctionPlan& plan, Words x) : plan_(plan), x_(std::move(x)) {
    Emit(trace_, plan_, int64_t(x_.size()));
    schedule_.emplace(trace_);
    EXPECT_TRUE(pfss::Lint(*schedule_).faults.empty());
    const uint64_t mask = ring::Mask(func::DomainBits(plan_.f));
    std::mt19937_64 rng(1);
    for (uint64_t v : x_) {
      const uint64_t own = plan_.from == Origin::kShared ? rng() & mask : 0;
      own_.push_back(own);
      peers_.push_back((v - own) & mask);
    }
    for (size_t f = 0; f < schedule_->frames().size(); ++f)
      for (const pfss::FrameField& part : schedule_->frames()[f].parts) AddOpening(f, part);
  }

  const std::vector<Opening>& openings() const { return openings_; }
  std::string steering() const { return pfss::Steering(trace_, 0); }

  // Runs the plan with a bit of an opening flipped, or honestly without an opening.
  run::PairRun Run(const Opening* flipped = nullptr, int bit = 0) {
    run::Inputs inputs[3];
    if (plan_.from == Origin::kShared) inputs[0].Set("share", own_);
    inputs[1].Set(InputOf(plan_.from), peers_);
    const pfss::BundleSecrets secrets{{Secret(Hash{1, 2}), Secret(Hash{3, 4})}, Hash{5}};
    static const auto backend = cpu::MakePacked(exec::Default());
    run::PairJob job{
        *schedule_, {backend.get(), backend.get(), backend.get()}, {&inputs[0], &inputs[1], &inputs[2]}, secrets};
    if (flipped)
      job.wrap = [&](Role r, std::unique_ptr<pfss::Randomness> own) -> std::unique_ptr<pfss::Randomness> {
        if (r != Role::kModel) return own;
        return std::make_unique<Flipped>(std::move(own), flipped->section, fss::ElementBytes(flipped->ring.bits), bit);
      };
    return run::RunPair(job);
  }

  // Returns the values that P0 learned, by channel.
  std::vector<Words> Learned(const run::PairRun& run) const {
    return ChannelWords(plan_, run.result[0], int64_t(x_.size()));
  }

  // Returns F of x + shift, by channel.
  std::vector<Words> Meaning(const Words& shift) const {
    const auto channels = func::ChannelsOf(plan_.f);
    std::vector<Words> y(channels.size());
    for (size_t i = 0; i < x_.size(); ++i) {
      const auto values = func::Channels(plan_.f, (x_[i] + shift[i]) & ring::Mask(func::DomainBits(plan_.f)));
      for (size_t c = 0; c < channels.size(); ++c) y[c].push_back(uint64_t(values[c]) & ring::Mask(channels[c].bits));
    }
    return y;
  }

  // Returns the change of P0's input in an altered run. It is the difference of the opening if P0 opened its input.
  Words ShiftOf(const Opening& o, const run::PairRun& honest, const run::PairRun& altered) const {
    Words shift(x_.size());
    if (trace_.name(trace_.node(o.message).label) != std::string("share")) return shift;
    for (size_t i = 0; i < x_.size(); ++i)
      shift[i] = (WordAt(o, altered, i) - WordAt(o, honest, i)) & ring::Mask(o.ring.bits);
    return shift;
  }

  // Returns P1's bare shares of P0's results.
  std::vector<Bytes> Shares(const run::PairRun& run) const {
    std::vector<Bytes> out;
    for (size_t f = 0; f < schedule_->frames().size(); ++f)
      for (const pfss::FrameField& part : schedule_->frames()[f].parts)
        if (schedule_->frames()[f].sender == 1 && trace_.name(trace_.node(part.node).label) == std::string("result"))
          out.emplace_back(run.frame[f].begin() + part.at, run.frame[f].begin() + part.at + part.bytes);
    return out;
  }

 private:
  void AddOpening(size_t frame, const pfss::FrameField& part) {
    const pfss::Node& message = trace_.node(part.node);
    int sum = message.args[0];
    while (trace_.node(sum).op == Op::kLow) sum = trace_.node(sum).args[0];
    if (message.attrs[0] != 0 || trace_.node(sum).op != Op::kAdd) return;
    const pfss::Node& pad = trace_.node(trace_.node(sum).args[1]);
    if (pad.op == Op::kRand) openings_.push_back({part.node, int(pad.attrs[1]), pad.ring, frame, part});
  }
  uint64_t WordAt(const Opening& o, const run::PairRun& run, size_t i) const {
    uint64_t w = 0;
    for (int b = 0; b < o.ring.bits; ++b) {
      const size_t at = i * size_t(o.ring.bits) + size_t(b);
      w |= uint64_t(run.frame[o.frame][size_t(o.part.at) + at / 8] >> at % 8 & 1) << b;
    }
    return w;
  }

  const FunctionPlan plan_;
  const Words x_;
  Words own_, peers_;
  Trace trace_;
  std::optional<pfss::Schedule> schedule_;
  std::vector<Opening> openings_;
};

Words Every(int n) {
  Words x;
  for (uint64_t v = 0; v < uint64_t{1} << n; ++v) x.push_back(v);
  return x;
}

// Attacks a plan at the first, middle and last bit of every opening of P0. Returns whether P0 learned more than F.
bool Leaks(const FunctionPlan& plan, const Words& x) {
  Attack attack(plan, x);
  const bool safe = attack.steering().empty();
  const run::PairRun honest = attack.Run();
  EXPECT_EQ(attack.Learned(honest), attack.Meaning(Words(x.size())));
  bool leaks = false;
  for (const Opening& o : attack.openings())
    for (int bit : std::set<int>{0, o.ring.bits / 2, o.ring.bits - 1}) {
      const run::PairRun altered = attack.Run(&o, bit);
      const Words shift = attack.ShiftOf(o, honest, altered);
      const bool own = shift != Words(x.size());
      // P0 learns more if P1's bare shares change in a way that no change of P0's own input explains
      const bool other =
          attack.Learned(altered) != attack.Meaning(shift) && (own || attack.Shares(altered) != attack.Shares(honest));
      leaks |= other;
      EXPECT_FALSE(safe && other) << Name(plan) << ", bit " << bit << " of message " << o.message;
    }
  return leaks;
}

const char* const kMixed =
    "suf mixed domain 8 ring 20 outputs 2 degree 1\npiece 0 : 5 3 | 7 0\npiece 100 : -2 -9 | 0 1\nend 256\n"
    "formula lt 17\nformula in 3 90\nchannel bit 1 1 inside\nchannel signed 20 0 y\nchannel unsigned 12 1 z\n";
const char* const kBits =
    "suf bits domain 8 ring 1 outputs 0 degree 0\nend 256\nformula msb 0\nformula lt 9\n"
    "channel bit 1 0 top\nchannel bit 1 1 small\n";
const char* const kProduct =
    "suf product domain 8 ring 1 outputs 0 degree 0\nend 256\nformula lt 99 in 3 200 and\nchannel bit 1 0 both\n";
const char* const kConstants =
    "suf constants domain 8 ring 12 outputs 1 degree 0\npiece 0 : 7\npiece 32 : 100\npiece 64 : -5\npiece 192 : 9\n"
    "end 256\nchannel signed 12 0 y\n";
const char* const kRelu =
    "suf relu domain 8 ring 8 outputs 1 degree 1\npiece 0 : 0 1\npiece 128 : 0 0\nend 256\nchannel signed 8 0 y\n";

func::Split Tables(func::Split::Kind kind) {
  std::mt19937_64 rng(3);
  func::Split f{kind, "split", 8, 16, 4, kind == func::Split::kSum ? 6 : 0, {}, {}};
  for (int i = 0; i < 1 << 4; ++i) f.high.push_back(rng() & 0xffff);
  for (int i = 0; i < 1 << (kind == func::Split::kSum ? 8 - 6 + 4 : 4); ++i) f.low.push_back(rng() & 0xffff);
  return f;
}

std::vector<func::Function> Functions() {
  std::vector<func::Function> all;
  for (const char* text : {kMixed, kBits, kProduct, kConstants, kRelu}) all.push_back(func::ParseFunction(text));
  for (auto kind : {func::Split::kSum, func::Split::kProduct}) all.emplace_back(Tables(kind));
  return all;
}

TEST(Steering, AnAlteredOpeningShowsMoreExactlyWhereTheReadingSaysSo) {
  const Words x = Every(8);
  std::set<std::string> safe, leaky;
  for (const func::Function& f : Functions())
    for (Origin from : {Origin::kP1, Origin::kShared}) {
      FunctionPlan plan{f, {}, from, from == Origin::kP1 ? To::kP0 : To::kBoth};
      if (func::Name(f) == "mixed" && from == Origin::kP1) continue;  // one run of its hundred pairs of lowerings
      for (const compiler::Candidate& c : Price(plan, compiler::Profiles()[0].prices, 256)) {
        if (!c.why_not.empty()) continue;
        SCOPED_TRACE(Str(func::Name(f), " by ", c.name));
        plan.choice = c.choice;
        EXPECT_EQ(Leaks(plan, x), !c.steering.empty()) << c.steering;
        (c.steering.empty() ? safe : leaky).insert(c.name);
      }
    }
  EXPECT_THAT(safe, testing::IsSupersetOf({"StepDcf", "IntervalLut", "DenseTable", "PackedCompare"}));
  EXPECT_THAT(leaky, testing::IsSupersetOf({"Index/digits", "Parity+Open", "Digits", "Bipartite/1", "Product/2"}));
}

// The bit that selects the piece of a ReLU is opened. If P0 flips it, P0 learns min(x, 0) instead of max(x, 0). Two
// calls show x.
TEST(Steering, AReluOpenedBitByBitGivesAwayItsInput) {
  const Words x = Every(8);
  FunctionPlan plan{func::ParseFunction(kRelu), {}, Origin::kP1, To::kP0};
  for (const char* lowering : {"Parity+Open", "Digits+Open", "Index/digits"}) {
    plan.choice = ChoiceOf(plan.f, lowering);
    Attack attack(plan, x);
    EXPECT_THAT(attack.steering(), testing::HasSubstr("depends on P0's message"));
    bool found = false;
    for (const Opening& o : attack.openings()) {
      const std::vector<Words> y = attack.Learned(attack.Run(&o, 0));
      bool other_piece = true;
      for (uint64_t v : x) other_piece &= y[0][v] == (v < 128 ? 0 : v);
      found |= other_piece;
    }
    EXPECT_TRUE(found) << lowering;
  }
  plan.choice = ChoiceOf(plan.f, "StepDcf");
  EXPECT_TRUE(Attack(plan, x).openings().empty());
}

// Plans avoid a steering if P0 learns a result of P1's values, and only then.
TEST(Steering, PlansAvoidIt) {
  const auto& prices = compiler::Profiles()[0].prices;
  const func::Function relu = func::ParseFunction(kRelu), tables = Tables(func::Split::kProduct);
  for (Origin from : {Origin::kP0, Origin::kP1, Origin::kShared})
    for (To to : {To::kP0, To::kP1, To::kBoth, To::kShared}) {
      SCOPED_TRACE(Str(int(from), " to ", int(to)));
      const FunctionPlan plan{relu, {}, from, to}, split{tables, {}, from, to};
      const bool reveals = from != Origin::kP0 && (to == To::kP0 || to == To::kBoth);
      EXPECT_EQ(RevealsToP0(plan), reveals);
      const std::vector<compiler::Candidate> all = Price(plan, prices, 1024), none = Price(split, prices, 1024);
      const compiler::Candidate &cheapest = compiler::Best(all), &open = Pick(plan, all, "Index/digits", false);
      EXPECT_EQ(Pick(plan, all, "auto", true).name, cheapest.name);
      EXPECT_EQ(open.name, "Index/digits");
      if (!reveals) {
        EXPECT_EQ(Pick(plan, all, "auto", false).name, cheapest.name);
        EXPECT_NO_THROW(RefuseSteering(plan, open, all));
        continue;
      }
      EXPECT_TRUE(Pick(plan, all, "auto", false).steering.empty());
      EXPECT_NO_THROW(RefuseSteering(plan, Pick(plan, all, "auto", false), all));
      EXPECT_THAT([&] { RefuseSteering(plan, open, all); },
                  testing::ThrowsMessage<Error>(testing::AllOf(
                      testing::HasSubstr("the lowering Index/digits of relu lets a P0 that alters its messages learn"),
                      testing::HasSubstr("; take StepDcf or DenseTable"))));
      EXPECT_THAT([&] { RefuseSteering(split, Pick(split, none, "auto", false), none); },
                  testing::ThrowsMessage<Error>(testing::AllOf(testing::HasSubstr("every lowering of split lets"),
                                                               testing::HasSubstr("let P1 alone learn the result"))));
    }
}

// If only one part is named, prices decide the other. They prefer candidates without a steering.
TEST(Steering, APartThatIsNamedIsCompletedWithoutIt) {
  const FunctionPlan plan{func::ParseFunction(kMixed), {}, Origin::kP1, To::kP0};
  const compiler::Profile small_keys = compiler::ParseProfile("flight=0,wire=0,key=1e-3,word=0,aes=1e15");
  const std::vector<compiler::Candidate> all = Price(plan, small_keys.prices, 1024);
  EXPECT_TRUE(Pick(plan, all, "StepDcf", false).steering.empty());
  EXPECT_FALSE(Pick(plan, all, "StepDcf", true).steering.empty());
  EXPECT_FALSE(Pick(plan, all, "Index/digits", false).steering.empty());
}

}  // namespace
}  // namespace suf::gates
