// The commands `suf gate plan`, `serve` and `ask`: a composition's plan, and its two parties as processes. The dealer
// is `suf deal`.
#include <algorithm>
#include <iostream>
#include <optional>

#include "apps/call.hpp"
#include "apps/exit.hpp"
#include "apps/fn/fn_source.hpp"
#include "apps/gate/gate_packed.hpp"
#include "apps/gate/gate_show.hpp"
#include "apps/gate/gate_source.hpp"
#include "apps/gate/gate_values.hpp"
#include "apps/gate/gate_words.hpp"
#include "apps/log.hpp"
#include "apps/output.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/times.hpp"
#include "suf/gates/plan_text.hpp"
#include "suf/roles/composition.hpp"

namespace suf::apps {

using gates::Composition;
using gates::Ints;

namespace {

// The inputs that a party brings.
struct OwnInputs {
  roles::InputWordLists words;  // of the protocol, in order of the text; empty if the other party brings it
  std::vector<Ints> clear;      // the same in clear; empty also if it is a share
  int64_t rows = 0;             // 0: the other party decides

  // Forgets the numbers in clear.
  void WipeClear() {
    for (Ints& x : clear) {
      Wipe(x.data(), x.size() * sizeof(int64_t));
      x.clear();
    }
  }
};

// Reads the files of --values of party p. Throws Cause::kInput unless they are those of its inputs by the plan.
OwnInputs ReadOwnInputs(const Composition& c, int p, const std::vector<std::string>& values) {
  const std::vector<std::string> files = FilesOfInputs(c, values);
  OwnInputs out;
  out.clear.resize(files.size());
  out.words.resize(files.size());
  std::vector<std::optional<size_t>> counts(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    const gates::InputStatement& in = c.text().inputs[i];
    const std::string& name = in.name.name;
    const bool share = in.from == gates::Origin::kShared;
    if (!gates::Brings(in, p)) {
      if (!files[i].empty())
        Fail(Cause::kInput, "the plan takes ", name, " from P", 1 - p, " alone; leave out --values ", name,
             "=.., or make a plan with 'input p", p, "'");
      continue;
    }
    if (files[i].empty())
      Fail(Cause::kInput, "the plan takes ", share ? "a share of " : "", name, " from P", p,
           "; name a file of numbers with --values ", name, "=FILE");
    Ints read = share ? ReadShare(files[i], in) : ReadInput(files[i], in);
    std::vector<uint64_t> words = share ? gates::ShareWords(in, read) : gates::InputWords(in, read);
    counts[i] = words.size();
    out.words[i].assign(words.begin(), words.end());
    Wipe(words.data(), words.size() * sizeof(uint64_t));
    if (share)
      Wipe(read.data(), read.size() * sizeof(int64_t));
    else
      out.clear[i] = std::move(read);
  }
  out.rows = gates::RowsOf(c, counts);
  return out;
}

// How a party ends with its outputs.
struct OutputTarget {
  const Composition& c;
  int party;
  const std::string& out;
  bool packed;
  const std::vector<std::string>& values;  // of --values

  // Checks that --out and --packed fit the party's outputs and that they can be written, before any value is sent.
  void Check(int64_t rows) const {
    if (packed && out.empty())
      Fail(Cause::kInput, "--packed writes the words that a party learned; name a file for them with --out");
    if (!out.empty() && !roles::Learns(c, party))
      Fail(Cause::kInput, "the plan gives P", party, " no output; leave out --out, or make a plan with 'output .. -> p",
           party, "'");
    if (out.empty())
      for (const gates::OutputStatement& s : c.text().outputs)
        if (s.to == gates::To::kShared)
          Fail(Cause::kInput, "the plan leaves each party a share of ", s.name.name, "; name a file for that of P",
               party, " with --out");
    if (!out.empty()) RefuseReplacing(c, party, out, values);
    if (packed)
      ProbePacked(c, party, out, rows);
    else if (!out.empty())
      ProbeOutputs(c, party, out, rows);
    else if (roles::Learns(c, party))
      CheckOutput();
  }
  // Writes the outputs to --out. Returns false if there is no such file.
  bool Write(const std::vector<Ints>& words) const {
    if (out.empty()) return false;
    if (packed)
      WritePacked(c, party, out, words);
    else
      WriteOutputs(c, party, out, words);
    return true;
  }
  // Writes the outputs to --out, or to stdout.
  void Show(const std::vector<Ints>& inputs, const std::vector<Ints>& words, int64_t rows) const {
    if (!Write(words) && roles::Learns(c, party)) std::cout << GateTable(c, inputs, words, rows) << "\n" << std::flush;
  }
};

// Returns "s=p1,t=p0": the parties that learn each output by the plan.
std::string EndsOf(const Composition& c) {
  std::string out;
  for (const gates::OutputStatement& s : c.text().outputs)
    out += (out.empty() ? "" : ",") + s.name.name + "=" + gates::Name(s.to);
  return out;
}

// Names the outputs of these statements.
std::string OutputNames(const Composition& c, const std::vector<size_t>& outputs) {
  std::vector<std::string> names;
  for (size_t o : outputs) names.push_back(c.text().outputs[o].name.name);
  return Listed(names);
}

// Checks --expect-to against the plan's outputs.
void CheckEnds(const Composition& c, const std::string& expected) {
  const std::vector<gates::OutputStatement>& outputs = c.text().outputs;
  std::vector<std::optional<gates::To>> to(outputs.size());
  for (const std::string& one : AtCommas(expected)) {
    const size_t at = one.find('=');
    if (at == one.npos && outputs.size() > 1)
      Fail(Cause::kInput, "--expect-to takes NAME=PARTY for each output with commas between, such as ", EndsOf(c),
           ", and got ", Quoted(one));
    const std::string name = at == one.npos ? outputs[0].name.name : one.substr(0, at);
    const gates::To learner = gates::ToNamed(at == one.npos ? one : one.substr(at + 1), "--expect-to");
    bool known = false;
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (outputs[o].name.name != name) continue;
      if (to[o]) Fail(Cause::kInput, "--expect-to names ", name, " twice; name it once");
      to[o] = learner;
      known = true;
    }
    if (!known)
      Fail(Cause::kRefused, "--expect-to names ", Quoted(name), ", which is no output of the plan; it gives ",
           EndsOf(c), "; ask for the plan that was agreed");
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (!to[o])
      Fail(Cause::kInput, "--expect-to leaves out ", outputs[o].name.name, "; name every output, such as ", EndsOf(c));
    if (*to[o] != outputs[o].to)
      Fail(Cause::kRefused, "the plan gives ", outputs[o].name.name, " to ", LearnerName(outputs[o].to),
           ", and --expect-to is ", gates::Name(*to[o]), "; ask for the plan that was agreed");
  }
}

// Logs the ends of the plan, and refuses an unexpected plan, before any message is sent.
void CheckExpectedGates(const char* command, const roles::CompositionEngine& engine, const GateExpectArgs& expect) {
  const Composition& c = engine.composition();
  std::vector<std::string> inputs, outputs;
  for (const gates::InputStatement& s : c.text().inputs)
    inputs.push_back(Str(s.name.name, " from ", BringerName(s.from)));
  for (const gates::OutputStatement& s : c.text().outputs)
    outputs.push_back(Str(s.name.name, " to ", LearnerName(s.to)));
  log::Info(Str(command, ": the composition has ", Plural(c.gates().size(), "gate"), "; it takes ", Listed(inputs)));
  log::Info(Str(command, ": it gives ", Listed(outputs)));
  log::Info(Str(command, ": the plan is ", Hex(engine.hash())));
  if (!expect.to.empty()) CheckEnds(c, expect.to);
  CheckPlanHash(engine.hash(), expect.hash, "suf gate plan");
}

// Compares what P1 learned with the gates' meaning, if P1 brought every input and learned an output.
std::optional<WrongOutputs> CompareOwn(const Composition& c, const std::vector<Ints>& inputs, std::vector<Ints> words,
                                       int64_t rows) {
  for (const gates::InputStatement& s : c.text().inputs)
    if (s.from != gates::Origin::kP1) return std::nullopt;
  bool any = false;
  for (size_t o = 0; o < words.size(); ++o) {
    const gates::To to = c.text().outputs[o].to;
    if (to != gates::To::kP1 && to != gates::To::kBoth) words[o].clear();
    any |= !words[o].empty();
  }
  if (!any) return std::nullopt;
  return CompareOutputs(c, words, gates::Evaluate(c, inputs, rows));
}

}  // namespace

int RunGatePlan(const GatePlanArgs& a) {
  Composition made = CompositionOf(a.g);
  const compiler::Profile profile = compiler::ParseProfile(a.profile);
  const int64_t many = RowsOrOne(made, std::min<int64_t>(a.max_values, 1024));
  gates::CompositionPlan plan;
  plan.choices = GateChoicesFor(made, a.lowering, profile, many, {}, a.semi_honest);
  if (!a.semi_honest) Hinted(Cause::kRefused, kTrustingHint, [&] { gates::RefuseSteering(made, plan.choices); });
  plan.composition = std::make_shared<const Composition>(std::move(made));
  plan.max_rows = a.max_values;
  const std::string text = gates::Print(plan);
  Hinted(Cause::kRefused, "--max-values", [&] { return gates::ParseCompositionPlan(text); });  // as each role reads it
  WriteText(a.out, text);
  const Composition& c = *plan.composition;
  const compiler::Bill bill = BillOf(c, plan.choices, many, nullptr);
  std::cout << "plan " << Hex(gates::HashOfPlan(plan)) << "\nup to " << Plural(a.max_values, "row") << " a call\n"
            << "outputs " << EndsOf(c) << "\n"
            << GateSentence(bill, many,
                            Str("about ", Duration10(compiler::Seconds(bill, profile.prices)), " by the profile ",
                                profile.name));
  return 0;
}

int RunGateServe(const GateServeArgs& a) {
  const RoleProcess process = StartRole("gate serve", Role::kModel, a);
  roles::CompositionEngine engine(roles::LoadCompositionPlan(a.plan), *process.backend);
  if (!a.times.empty()) engine.MeasureScopes();
  const Composition& c = engine.composition();
  CheckExpectedGates("gate serve", engine, a.expect);
  OwnInputs own = ReadOwnInputs(c, 0, a.values);
  const OutputTarget target{c, 0, a.out, a.packed, a.values};
  target.Check(std::max<int64_t>(own.rows, 1));
  if (own.rows) CheckCount(engine, size_t(own.rows));
  if (!a.out.empty()) own.WipeClear();  // the rest is shown beside the results of P0
  AnswerCalls(
      "gate serve", a, process.own, engine,
      [&](LearnedHook learned) {
        return roles::ServerDataOf(c, std::move(own.words), uint32_t(own.rows), std::move(learned));
      },
      [&](uint32_t rows, const std::vector<uint64_t>& words) {
        target.Show(own.clear, gates::OutputWords(c, 0, words, rows), rows);
      });
  return 0;
}

namespace {

// Refuses a plan by which P0 learns more than P1 agreed to.
void RefuseUnagreed(const GateAskArgs& a, const roles::CompositionEngine& engine) {
  const Composition& c = engine.composition();
  const std::vector<size_t> revealed = gates::RevealsToP0(c);
  if (!revealed.empty() && a.expect.to.empty() && a.expect.hash.empty())
    Fail(Cause::kRefused, "by this plan P0 learns ", OutputNames(c, revealed),
         " of our values; if that is agreed, add ", "--expect-to ", EndsOf(c),
         ", or --plan-hash with the hash of the agreed plan");
  if (!a.semi_honest) Hinted(Cause::kRefused, kTrustingHint, [&] { gates::RefuseSteering(c, engine.plan().choices); });
}

}  // namespace

int RunGateAsk(const GateAskArgs& a) {
  const RoleProcess process = StartRole("gate ask", Role::kData, a);
  roles::CompositionEngine engine(roles::LoadCompositionPlan(a.plan), *process.backend);
  if (!a.times.empty()) engine.MeasureScopes();
  const Composition& c = engine.composition();
  CheckExpectedGates("gate ask", engine, a.expect);
  RefuseUnagreed(a, engine);
  OwnInputs own = ReadOwnInputs(c, 1, a.values);
  const OutputTarget target{c, 1, a.out, a.packed, a.values};
  target.Check(std::max<int64_t>(own.rows, 1));
  if (own.rows) CheckCount(engine, size_t(own.rows));
  TimesFile times(a.times);
  const auto request = [&](uint32_t rows) { return roles::Values(c, std::move(own.words), rows); };
  const CallResult called =
      RunCall({"gate ask", a, a.connect, a.audit, a.semi_honest, uint32_t(own.rows), request}, process.own, engine);
  const roles::JobResult& ran = called.job;
  times.Add(ran.serial, ran.times);
  const std::vector<Ints> words = gates::OutputWords(c, 1, ran.words, ran.count);
  const std::optional<WrongOutputs> compared = CompareOwn(c, own.clear, words, ran.count);
  const compiler::Bill bill = compiler::BillOf(*ran.work->schedule);
  if (a.json) {
    std::vector<Ints> learned = words;
    for (size_t o = 0; o < learned.size(); ++o)
      if (c.text().outputs[o].to == gates::To::kShared) learned[o].clear();
    auto row = GateRow(c, engine.plan().choices, bill, ran.work->trace.digest(), ran.count, learned);
    row["backend"] = "packed";
    row["equal"] = compared ? nlohmann::ordered_json(compared->count == 0) : nlohmann::ordered_json(nullptr);
    AddCallCosts(&row, engine.hash(), ran);
    std::cout << row.dump() << "\n";
    (void)target.Write(words);
  } else {
    target.Show(own.clear, words, ran.count);
    std::cerr << GateSentence(bill, ran.count, CallTimes(ran))
              << (compared && compared->count == 0 ? "equal to the gates' own meaning at every number\n" : "");
  }
  // after all calls, so that P0 cannot see it; a retry would show P0 that its change of messages mattered
  if (compared && compared->count)
    Fail(Cause::kRefused, Plural(compared->count, "number"), compared->count == 1 ? " differs" : " differ",
         " from the gates' own meaning, the first is ", compared->first,
         "; do not retry before you know why P0's share is wrong");
  if (called.end) throw *called.end;
  return 0;
}

}  // namespace suf::apps
