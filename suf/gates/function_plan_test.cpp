// Plans of functions between two parties, with every owner of inputs and results, several rings, bits and Splits. The
// results equal the function, and the counters of the channel equal the schedule.
#include "suf/gates/function_plan.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "suf/backends/every_test.hpp"
#include "suf/func/library.hpp"
#include "suf/func/text.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/ring/modular.hpp"
#include "suf/run/pair.hpp"

namespace suf::gates {
namespace {

using pfss::Trace;
using Channels = std::vector<std::vector<uint64_t>>;

struct Ran {
  std::array<Channels, 2> got;  // by party, then channel
  int flights = 0, results = 0;
};

Ran RunPlan(const FunctionPlan& plan, const std::vector<uint64_t>& x, std::mt19937_64& rng) {
  const int64_t count = int64_t(x.size());
  const int n = func::DomainBits(plan.f);
  Trace t;
  Emit(t, plan, count);
  pfss::Schedule s(t);
  pfss::LintReport lint = pfss::Lint(s);
  EXPECT_TRUE(lint.faults.empty()) << lint.faults[0];
  run::Inputs inputs[3];
  std::vector<uint64_t> other(x.size()), mine(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    other[i] = rng() & ring::Mask(n);
    mine[i] = (x[i] - other[i]) & ring::Mask(n);
  }
  if (plan.from == Origin::kShared) {
    inputs[0].Set("share", mine);
    inputs[1].Set("share", other);
  } else
    inputs[plan.from == Origin::kP1].Set("values", x);
  pfss::BundleSecrets secrets{{Secret(Hash{1, 2}), Secret(Hash{3, 4})}, Hash{5}};
  static const auto every = backends::Every();
  static size_t turn = 0;
  run::PairRun run = run::RunPair({s, backends::InTurn(every, turn++), {&inputs[0], &inputs[1], &inputs[2]}, secrets});
  for (int p : {0, 1}) {
    EXPECT_EQ(run.online[size_t(p)] + run.offline[size_t(p)], s.sent(p, true) + s.sent(p, false));
    EXPECT_EQ(int64_t(run.key[size_t(p)].size()), s.key_bytes(p));
  }
  Ran out{{}, s.flights(), lint.results};
  for (int p : {0, 1})
    if (!run.result[size_t(p)].empty()) out.got[size_t(p)] = ChannelWords(plan, run.result[size_t(p)], count);
  return out;
}

// A party that learns has the function's values, and kept shares add up to them. Other parties have no result.
void ExpectMeaning(const FunctionPlan& plan, const std::vector<uint64_t>& x, const Ran& ran) {
  const auto channels = func::ChannelsOf(plan.f);
  const bool learns[2] = {plan.to == To::kP0 || plan.to == To::kBoth, plan.to == To::kP1 || plan.to == To::kBoth};
  for (size_t i = 0; i < x.size(); ++i) {
    const std::vector<int64_t> want = func::Channels(plan.f, x[i]);
    for (size_t c = 0; c < channels.size(); ++c) {
      const uint64_t word = uint64_t(want[c]) & ring::Mask(channels[c].bits);
      if (plan.to == To::kShared) {
        const uint64_t sum = ran.got[0].at(c).at(i) + ran.got[1].at(c).at(i);
        ASSERT_EQ(sum & ring::Mask(channels[c].bits), word) << Name(plan) << " at " << x[i];
      } else {
        for (int p : {0, 1}) {
          ASSERT_EQ(ran.got[size_t(p)].empty(), !learns[p]);
          ASSERT_TRUE(!learns[p] || ran.got[size_t(p)].at(c).at(i) == word) << Name(plan) << " at " << x[i];
        }
      }
    }
  }
}

// A function with two rings. Two channels read one polynomial; one polynomial and one formula are not read.
const char* const kMixed = R"(suf mixed domain 8 ring 20 outputs 3 degree 1
piece 0 : 5 3 | 7 0 | 1 1
piece 100 : -2 -9 | 0 1 | 2 0
end 256
formula lt 17
formula msb 0
formula in 3 90
channel bit 1 2 inside
channel signed 20 0 y
channel unsigned 12 2 z
channel bit 1 0 small
channel signed 12 0 low
)";

TEST(FunctionPlan, EveryOriginAndEnding) {
  std::mt19937_64 rng(1);
  FunctionPlan plan{func::ParseFunction(kMixed), {}, {}, {}};
  std::vector<uint64_t> x;
  for (uint64_t v = 0; v < 256; ++v) x.push_back(v);
  std::vector<compiler::Candidate> all = Price(plan, compiler::Profiles()[0].prices, 256);
  plan.choice = compiler::Best(all).choice;
  std::array<int, 2> flights{};
  for (Origin from : {Origin::kP0, Origin::kP1, Origin::kShared})
    for (To to : {To::kP0, To::kP1, To::kBoth, To::kShared}) {
      plan.from = from;
      plan.to = to;
      Ran ran = RunPlan(plan, x, rng);
      ExpectMeaning(plan, x, ran);
      // results: the bits, numbers of 20 bits, and numbers of 12 bits
      EXPECT_EQ(ran.results, to == To::kShared ? 0 : to == To::kBoth ? 6 : 3);
      if (to == To::kBoth) flights[from == Origin::kShared] = ran.flights;
    }
  EXPECT_GE(flights[1], flights[0]);
}

// Runs every lowering that applies, and checks its results and its flights. Returns the names of these lowerings.
std::set<std::string> ExpectEveryLowering(FunctionPlan plan, const std::vector<uint64_t>& x, std::mt19937_64& rng) {
  std::set<std::string> names;
  for (const compiler::Candidate& c : Price(plan, compiler::Profiles()[0].prices, int64_t(x.size()))) {
    if (!c.why_not.empty()) continue;
    plan.choice = c.choice;
    EXPECT_EQ(Name(plan), c.name);
    Ran ran = RunPlan(plan, x, rng);
    EXPECT_EQ(ran.flights, c.bill.flights);
    ExpectMeaning(plan, x, ran);
    if (testing::Test::HasFatalFailure()) break;
    names.insert(c.name);
  }
  return names;
}

TEST(FunctionPlan, EveryLoweringIsThePlansFunction) {
  std::mt19937_64 rng(2);
  std::vector<uint64_t> x;
  for (uint64_t v = 0; v < 256; ++v) x.push_back(v);
  for (Origin from : {Origin::kP1, Origin::kShared})
    for (To to : {To::kP0, To::kP1, To::kBoth, To::kShared})
      EXPECT_GT(ExpectEveryLowering({func::ParseFunction(kMixed), {}, from, to}, x, rng).size(), 20u);
}

func::Split RandomSplit(func::Split::Kind kind, int n, int a, int c, int ring, std::mt19937_64& rng) {
  func::Split f{kind, "split", n, ring, a, c, {}, {}};
  const int low = kind == func::Split::kSum ? n - c + a : a;
  for (int i = 0; i < 1 << (n - a); ++i) f.high.push_back(rng() & ring::Mask(ring));
  for (int i = 0; i < 1 << low; ++i) f.low.push_back(rng() & ring::Mask(std::min(ring, 1 + int(rng() % 64))));
  return f;
}

TEST(FunctionPlan, Splits) {
  std::mt19937_64 rng(3);
  std::vector<func::Split> all;
  for (int a : {0, 1, 3, 6})
    for (int ring : {1, 5, 6, 17, 64}) {
      all.push_back(RandomSplit(func::Split::kProduct, 6, a, 0, ring, rng));
      for (int c = a; c <= 6; ++c) all.push_back(RandomSplit(func::Split::kSum, 6, a, c, ring, rng));
    }
  all.push_back(RandomSplit(func::Split::kProduct, 14, 3, 0, 30, rng));  // a table of 11 bits is dealt whole
  all.push_back(RandomSplit(func::Split::kSum, 15, 5, 9, 64, rng));
  for (const func::Split& f : all)
    for (Origin from : {Origin::kP0, Origin::kShared}) {
      FunctionPlan plan{f, {}, from, from == Origin::kP0 ? To::kBoth : To::kShared};
      std::vector<uint64_t> x;
      for (uint64_t v = 0; v < 64; ++v) x.push_back(f.n == 6 ? v : rng() & ring::Mask(f.n));
      ExpectEveryLowering(plan, x, rng);
      if (HasFatalFailure()) return;
    }
}

TEST(FunctionPlan, NamesLowerings) {
  FunctionPlan plan{func::ParseFunction(kMixed), {}, {}, {}};
  const std::vector<compiler::Candidate> all = Price(plan, compiler::Profiles()[0].prices, 1);
  plan.choice = Pick(plan, all, "Index/digits, Digits", false).choice;
  EXPECT_EQ(Name(plan), "Index/digits, Digits");
  plan.choice = Pick(plan, all, "Index/parity", false).choice;
  EXPECT_TRUE(Name(plan).starts_with("Index/parity, ")) << Name(plan);
  auto cause = [&](const char* name, const char* what) {
    try {
      Pick(plan, all, name, false);
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
      return e.cause();
    }
    return Cause::kResource;
  };
  EXPECT_EQ(cause("Nothing", "is no lowering"), Cause::kInput);
  EXPECT_EQ(cause("RowLut", "does not apply"), Cause::kRefused);
  func::Suf mute = std::get<func::Suf>(plan.f);
  mute.channels.clear();
  Trace t;
  EXPECT_THROW(Emit(t, {mute, {}, {}, {}}, 1), Error);
}

// Any two profiles, with keys ahead or now, lower some function differently. The same holds for one profile with keys
// ahead and now.
TEST(FunctionPlan, EachTwoProfilesDiffer) {
  std::vector<compiler::Profile> all;
  for (bool now : {false, true})
    for (compiler::Profile p : compiler::Profiles()) {
      p.prices.now = now;
      all.push_back(p);
    }
  std::set<std::pair<size_t, size_t>> equal;
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < i; ++j) equal.insert({j, i});
  for (const char* name : {"relu", "gelu", "relubits", "sigmoid"})
    for (int64_t count : {16, 30, 64, 100, 128, 1024, 3000, 4096, 16384, 262144}) {
      const FunctionPlan plan{func::Make(name, 32, 12).f, {}, Origin::kP1, To::kP1};
      std::vector<compiler::Candidate> candidates = Price(plan, all[0].prices, count);
      std::vector<std::string> choice;
      for (const compiler::Profile& p : all) {
        for (compiler::Candidate& c : candidates) c.seconds = compiler::Seconds(c.bill, p.prices);
        choice.push_back(compiler::Best(candidates).name);
      }
      std::erase_if(equal, [&](auto& pair) { return choice[pair.first] != choice[pair.second]; });
    }
  for (auto [i, j] : equal)
    ADD_FAILURE() << all[i].name << (all[i].prices.now ? " now" : " ahead") << " and " << all[j].name
                  << (all[j].prices.now ? " now" : " ahead") << " choose alike";
}

}  // namespace
}  // namespace suf::gates
