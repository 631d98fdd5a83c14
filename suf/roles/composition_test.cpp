// A composition between a server and a client, with the dealer, over channels in one process. Inputs of both parties,
// every ending, rows that P0 or P1 brings, and the refusals of each role.
#include "suf/roles/composition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "suf/base/scratch_test.hpp"
#include "suf/cpu/packed.hpp"
#include "suf/exec/pool.hpp"
#include "suf/reference/clear.hpp"
#include "suf/ring/modular.hpp"
#include "suf/roles/function.hpp"
#include "suf/roles/links_test.hpp"
#include "suf/roles/load_engine.hpp"
#include "suf/store/witnessed_test.hpp"

namespace suf::roles {
namespace {

using gates::Ints;
using gates::To;

// Inputs of P0, of P1 and of both; outputs of every kind of value.
std::string MixedText(const std::string& to) {
  return "x = input p1 12:4 [n, 2]\nv = input p0 8:0 [2] range -100..100\nb = input p0 bit [n]\n"
         "k = input shared 2:0:u [n]\nm = input p1 mask 5\n"
         "y, w = reluars(x, shift=2) outputs y, w\ns = dot(y, v)\nt = table(k, {5, -3, 7, 200})\n"
         "z = select(b, t)\nf = bit(m, i=2)\n"
         "output s -> " +
         to + "\noutput w -> shared\noutput z -> p1\noutput f -> " + to + "\n";
}

gates::CompositionPlan PlanOf(const std::string& text, int64_t max_rows = 16) {
  auto c = std::make_shared<const gates::Composition>(gates::ParseComposition(text));
  gates::CompositionPlan plan{c, gates::ChooseSafe(*c, compiler::Profiles()[0].prices, 4, false), max_rows};
  return gates::ParseCompositionPlan(gates::Print(plan));  // as each role reads it
}

// The inputs of a call: of every statement for each party, in clear or as shares.
struct TestCall {
  std::vector<Ints> clear;
  InputWordLists words[2];
};
TestCall CallOf(const gates::Composition& c, int64_t rows, uint32_t seed) {
  std::mt19937_64 rng(seed);
  TestCall out;
  for (int p : {0, 1}) out.words[p].resize(c.text().inputs.size());
  for (size_t i = 0; i < c.text().inputs.size(); ++i) {
    const gates::InputStatement& in = c.text().inputs[i];
    const auto span = uint64_t(in.type.high - in.type.low);
    Ints x(size_t(gates::CountOf(c, int(i), rows)));
    for (int64_t& v : x) v = int64_t(in.type.low) + int64_t(rng() % (span + 1));
    out.clear.push_back(x);
    const std::vector<uint64_t> all = gates::InputWords(in, x);
    if (in.from != gates::Origin::kShared) {
      out.words[in.from == gates::Origin::kP1][i].assign(all.begin(), all.end());
      continue;
    }
    for (uint64_t w : all) {
      const uint64_t share = rng() & ring::Mask(in.type.bits);
      out.words[0][i].push_back(share);
      out.words[1][i].push_back((w - share) & ring::Mask(in.type.bits));
    }
  }
  return out;
}

// The dealer runs on the reference backend, the parties on packed.
struct CompositionWorld {
  explicit CompositionWorld(const gates::CompositionPlan& plan, Client::Options options = {}) {
    Dealer::Options deal;
    deal.service.partner_wait = net::Millis{20'000};
    for (int r = 0; r < 3; ++r) engine[r].emplace(plan, r ? *packed : *clear);
    dealer.emplace(*engine[0], dir / "dealer", std::move(deal));
    client.emplace(*engine[2], store[1], links.Dial(Role::kData), std::move(options));
  }
  const gates::Composition& composition() const { return engine[0]->composition(); }
  void Serve(InputWordLists words, uint32_t rows) {
    Server::Options options;
    options.runs = [this](const PeerName&, const store::Job&, uint64_t) {
      if (breaks) Fail(Cause::kResource, "P0 breaks off");
    };
    server.emplace(*engine[1],
                   ServerDataOf(composition(), std::move(words), rows,
                                [this](uint32_t n, std::vector<uint64_t> learned_words) {
                                  learned.push_back(gates::OutputWords(composition(), 0, learned_words, n));
                                }),
                   store[0], links.Dial(Role::kModel), std::move(options));
  }
  // Runs a job of P1 with these inputs. `rows` 0: those that P0 announces. Returns the outputs of P1.
  std::vector<Ints> Run(InputWordLists words, uint32_t rows) {
    std::optional<JobResult> ran;
    links.Talk(*server, [&](net::Channel& ch) {
      Client::Session session(*client, ch);
      announced = session.brought();
      std::vector<JobRequest> jobs;
      jobs.push_back(Values(composition(), std::move(words), rows ? rows : announced));
      session.Run(std::move(jobs), [&](size_t, JobResult r) { ran = std::move(r); });
      serial = ran->serial;
      session.End();
    });
    return gates::OutputWords(composition(), 1, ran->words, ran->count);
  }
  Scratch dir;
  std::unique_ptr<pfss::Backend> packed = cpu::MakePacked(exec::Default()), clear = reference::MakeClear();
  std::optional<CompositionEngine> engine[3];
  store::Home store[2] = {store::Home(dir / "p0"), store::Home(dir / "p1")};
  std::optional<Dealer> dealer;
  Links links{dealer};
  std::optional<Server> server;
  std::optional<Client> client;
  std::vector<std::vector<Ints>> learned;
  uint32_t announced = 0;
  uint64_t serial = 0;
  bool breaks = false;
};

// Expects that each party has exactly its outputs, and that they have the gates' meaning.
void ExpectOutputs(const gates::Composition& c, const TestCall& call, int64_t rows, const std::vector<Ints>& p0,
                   const std::vector<Ints>& p1) {
  const std::vector<Ints> meant = gates::Evaluate(c, call.clear, rows);
  for (size_t o = 0; o < c.text().outputs.size(); ++o) {
    const gates::OutputStatement& s = c.text().outputs[o];
    SCOPED_TRACE(s.name.name + " to " + gates::Name(s.to));
    const auto v = size_t(c.value(s.name.name));
    const Ints &want = meant[v], none;
    if (s.to != To::kShared) {
      EXPECT_EQ(p0[o], gates::Learns(s, 0) ? want : none);
      EXPECT_EQ(p1[o], gates::Learns(s, 1) ? want : none);
      continue;
    }
    ASSERT_EQ(p0[o].size(), want.size());
    ASSERT_EQ(p1[o].size(), want.size());
    const gates::ValueType& type = c.values()[v].type;
    for (size_t i = 0; i < want.size(); ++i) {
      const uint64_t a = uint64_t(p0[o][i]), b = uint64_t(p1[o][i]), mask = ring::Mask(type.bits);
      EXPECT_EQ((type.kind == gates::ValueKind::kNumber ? a + b : a ^ b) & mask, uint64_t(want[i]) & mask);
    }
  }
}

TEST(Composition, EveryEndingGivesEachPartyItsOutputs) {
  for (const char* to : {"p0", "p1", "both", "shared"}) {
    SCOPED_TRACE(to);
    const bool reveals = std::string(to) == "p0" || std::string(to) == "both";
    CompositionWorld w(PlanOf(MixedText(to)), {.semi_honest = reveals});
    EXPECT_EQ(gates::RevealsToP0(w.composition()), reveals ? (std::vector<size_t>{0, 3}) : std::vector<size_t>{});
    TestCall call = CallOf(w.composition(), 3, 7);
    w.Serve(std::move(call.words[0]), 3);
    const std::vector<Ints> p1 = w.Run(std::move(call.words[1]), 3);
    ASSERT_FALSE(w.links.served) << w.links.served->what();
    EXPECT_EQ(w.announced, 3u);
    ASSERT_EQ(w.learned.size(), 1u) << "every ending leaves P0 a share of w";
    ExpectOutputs(w.composition(), call, 3, w.learned[0], p1);
  }
}

TEST(Composition, AServerWithoutOutputsIsGivenNone) {
  CompositionWorld w(PlanOf("x = input p1 8:0 [n]\nv = input p0 8:0\ny = multiply(x, v)\noutput y -> p1\n"));
  EXPECT_TRUE(Learns(w.composition(), 1) && !Learns(w.composition(), 0));
  TestCall call = CallOf(w.composition(), 2, 1);
  w.Serve(std::move(call.words[0]), 1);
  const std::vector<Ints> p1 = w.Run(std::move(call.words[1]), 2);
  EXPECT_TRUE(w.learned.empty());
  ExpectOutputs(w.composition(), call, 2, {Ints()}, p1);
}

// P0 brings no rows, so each client decides. The inputs of P0 are the same in every call.
TEST(Composition, ClientsDecideTheRowsThatP0DoesNotBring) {
  CompositionWorld w(PlanOf("x = input p1 8:0 [n]\nv = input p0 8:0\ny = multiply(x, v)\noutput y -> p1\n"));
  EXPECT_TRUE(Brings(w.composition(), 0) && !Brings(w.composition(), 0, true));
  TestCall first = CallOf(w.composition(), 2, 1), second = CallOf(w.composition(), 9, 2);
  second.clear[1] = first.clear[1];
  w.Serve(std::move(first.words[0]), 1);
  ExpectOutputs(w.composition(), first, 2, {Ints()}, w.Run(std::move(first.words[1]), 2));
  EXPECT_EQ(w.announced, 0u);
  ExpectOutputs(w.composition(), second, 9, {Ints()}, w.Run(std::move(second.words[1]), 9));
  EXPECT_TRUE(Fails(Cause::kInput, "the call has 17 rows; the plan covers 1 to 16; bring fewer at a time",
                    [&] { w.Run(std::move(CallOf(w.composition(), 17, 3).words[1]), 17); }));
}

// P0 alone brings rows. P1 takes the number that P0 announces.
TEST(Composition, P0AnnouncesItsRows) {
  CompositionWorld w(PlanOf("x = input p0 8:0 [n]\nv = input p1 8:0\ny = multiply(x, v)\noutput y -> p1\n"));
  EXPECT_TRUE(Brings(w.composition(), 1) && !Brings(w.composition(), 1, true));
  TestCall call = CallOf(w.composition(), 5, 1);
  w.Serve(std::move(call.words[0]), 5);
  ExpectOutputs(w.composition(), call, 5, {Ints()}, w.Run(std::move(call.words[1]), 0));
  EXPECT_EQ(w.announced, 5u);
}

TEST(Composition, ACompositionWithoutRowsHasOneRow) {
  CompositionWorld w(PlanOf("x = input p0 8:0 [3]\nv = input p1 8:0\ny = multiply(x, v)\noutput y -> p1\n"));
  EXPECT_EQ(gates::RowsOf(w.composition(), {std::nullopt, 1}), 1);
  TestCall call = CallOf(w.composition(), 1, 1);
  w.Serve(std::move(call.words[0]), 1);
  ExpectOutputs(w.composition(), call, 1, {Ints()}, w.Run(std::move(call.words[1]), 1));
  EXPECT_EQ(w.announced, 0u);
}

TEST(Composition, PartiesWithOtherRowsAreRefusedBeforeAnythingIsSpent) {
  CompositionWorld w(PlanOf(MixedText("p1")));
  w.Serve(std::move(CallOf(w.composition(), 3, 7).words[0]), 3);
  EXPECT_TRUE(Fails(Cause::kInput, "the model owner brings another number of values than we do",
                    [&] { w.Run(std::move(CallOf(w.composition(), 2, 7).words[1]), 2); }));
  ASSERT_TRUE(w.links.served);
  EXPECT_THAT(w.links.served->what(), testing::HasSubstr("announced 2 rows, we bring 3; give both parties as many"));
  EXPECT_EQ(OnlyLane(w.store[1])->ledger().floor(), 0u);
}

// Every lowering of reluars lets a P0 that alters its messages learn more.
TEST(Composition, AClientRefusesASteeringBeforeAnythingIsSpent) {
  for (const char* to : {"p0", "both"}) {
    CompositionWorld w(PlanOf(MixedText(to)));
    w.Serve(std::move(CallOf(w.composition(), 3, 7).words[0]), 3);
    EXPECT_TRUE(Fails(Cause::kRefused, "a P0 that alters its messages learns more of our values than the result",
                      [&] { w.Run(std::move(CallOf(w.composition(), 3, 7).words[1]), 3); }));
    EXPECT_EQ(OnlyLane(w.store[1])->ledger().floor(), 0u);
    EXPECT_TRUE(w.learned.empty());
  }
}

// P0 learns a result of its own input beside a result of both for P1, by every lowering.
TEST(Composition, AResultOfP0sOwnInputsHasNoSteering) {
  const std::string text =
      "x = input p0 8:0 [n]\nv = input p1 8:0\ny = relu(x)\nz = multiply(y, v)\noutput y -> p0\noutput z -> p1\n";
  gates::CompositionPlan plan = PlanOf(text);
  const std::vector<std::string> options = plan.composition->gates()[0].gate->Options(plan.composition->gates()[0].use);
  for (const std::string& option : {options.front(), options.back()}) {
    SCOPED_TRACE(option);
    plan.choices[0] = option;
    CompositionWorld w(plan);
    TestCall call = CallOf(w.composition(), 4, 1);
    w.Serve(std::move(call.words[0]), 4);
    const std::vector<Ints> p1 = w.Run(std::move(call.words[1]), 4);
    ASSERT_EQ(w.learned.size(), 1u);
    ExpectOutputs(w.composition(), call, 4, w.learned[0], p1);
  }
}

// P0 breaks off after it claimed a serial. It is burnt at both parties, and the next call takes another one.
TEST(Composition, ASerialServesOneCall) {
  CompositionWorld w(PlanOf(MixedText("p1")));
  TestCall call = CallOf(w.composition(), 3, 7);
  w.Serve(call.words[0], 3);
  w.breaks = true;
  EXPECT_TRUE(Fails(Cause::kPeer, "the model owner", [&] { w.Run(call.words[1], 3); }));
  EXPECT_TRUE(w.learned.empty());
  for (int p : {0, 1}) EXPECT_EQ(OnlyLane(w.store[p], p ? Hash{} : kId[1].key)->ledger().floor(), 1u);
  w.breaks = false;
  const std::vector<Ints> p1 = w.Run(call.words[1], 3);
  EXPECT_EQ(w.serial, 2u);
  ASSERT_EQ(w.learned.size(), 1u);
  ExpectOutputs(w.composition(), call, 3, w.learned[0], p1);
}

TEST(Composition, RolesWithOtherPlansPartBeforeAnythingIsSpent) {
  CompositionWorld w(PlanOf(MixedText("p1"), 16)), other(PlanOf(MixedText("p1"), 17));
  other.Serve(std::move(CallOf(w.composition(), 3, 7).words[0]), 3);
  EXPECT_TRUE(Fails(Cause::kRefused, "holds another plan",
                    [&] { w.links.Talk(*other.server, [&](net::Channel& ch) { Client::Session s(*w.client, ch); }); }));
}

TEST(Composition, ThePlansKindMakesTheEngine) {
  const Scratch dir;
  auto backend = reference::MakeClear();
  const gates::CompositionPlan plan = PlanOf(MixedText("p1"));
  const gates::FunctionFile file{
      {*PlanOf("x = input p1 8:0 [n]\ny = function(x, \"f\")\noutput y -> p1\nfunction f\n"
               "suf f domain 8 ring 8 outputs 1 degree 0\npiece 0 : 1\npiece 9 : 2\nend 256\n"
               "channel signed 8 0 y\nend function\n")
            .composition->text()
            .gates[0]
            .function,
       {},
       gates::Origin::kP1,
       To::kP1},
      7};
  const std::string paths[] = {dir / "composition", dir / "function"};
  std::ofstream(paths[0]) << gates::Print(plan);
  std::ofstream(paths[1]) << gates::Print(file);
  const auto composition = LoadEngine(paths[0], *backend), function = LoadEngine(paths[1], *backend);
  EXPECT_TRUE(dynamic_cast<CompositionEngine*>(composition.get()));
  EXPECT_EQ(composition->hash(), gates::HashOfPlan(plan));
  EXPECT_STREQ(composition->unit().name, "rows");
  EXPECT_TRUE(dynamic_cast<FunctionEngine*>(function.get()));
  EXPECT_TRUE(Fails(Cause::kRefused, "this is the plan of a composition, not of a function",
                    [&] { (void)LoadFunctionPlan(paths[0]); }));
  EXPECT_TRUE(Fails(Cause::kRefused, "this is the plan of a function, not of a composition",
                    [&] { (void)LoadCompositionPlan(paths[1]); }));
  EXPECT_TRUE(Fails(Cause::kInput, "cannot read the plan ", [&] { (void)LoadEngine(dir / "none", *backend); }));
}

}  // namespace
}  // namespace suf::roles
