#include "apps/gate/gate_run.hpp"

#include <algorithm>
#include <chrono>

#include "apps/fn/fn_pair.hpp"
#include "apps/gate/gate_mirror.hpp"
#include "apps/gate/gate_words.hpp"
#include "suf/base/digest.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/run/mirror.hpp"
#include "suf/run/pair.hpp"

namespace suf::apps {

using gates::Composition;
using gates::Ints;

void CompareGates(const Composition& c, const std::vector<Ints>& inputs, int64_t rows,
                  std::array<std::vector<Ints>, 2> words, GateRun* out) {
  out->outputs = Joined(c, words);
  out->words = std::move(words);
  const WrongOutputs wrong = CompareOutputs(c, out->outputs, gates::Evaluate(c, inputs, rows));
  out->wrong = wrong.count;
  out->first = wrong.first;
}

void RefuseRows(const Composition& c, const gates::GateChoices& choices, int64_t rows) {
  pfss::Trace t;
  gates::Emit(t, c, choices, rows);
  Refuse(pfss::Schedule(t), rows);
}

GateRun RunGates(const Composition& c, const gates::GateChoices& choices, const std::vector<Ints>& inputs, int64_t rows,
                 pfss::Backend& backend, const std::string& mirror) {
  pfss::Trace t(backend.capabilities());
  gates::Emit(t, c, choices, rows);
  const pfss::Schedule s(t);
  Refuse(s, rows);
  if (const pfss::LintReport lint = pfss::Lint(s); !lint.faults.empty())
    Fail(Cause::kRefused, "the trace of the composition does not pass the lint (", lint.faults[0],
         "); report it, and use another lowering");
  if (!mirror.empty()) ProbeMirror(mirror);
  std::array<run::Inputs, 2> given = InputsOfParties(c, inputs);
  run::Inputs none;
  const pfss::BundleSecrets secrets{{Secret::Random(), Secret::Random()}, RandomHash()};
  const auto begin = std::chrono::steady_clock::now();
  const run::PairRun run = run::RunPair({s, {&backend, &backend, &backend}, {&given[0], &given[1], &none}, secrets});
  GateRun out;
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  out.bill = compiler::BillOf(s);
  out.trace = t.digest();
  // replace the estimates by the bytes that were sent and dealt
  for (size_t p : {0, 1}) {
    out.bill.sent[p] = run.online[p] + run.offline[p];
    out.bill.key[p] = int64_t(run.key[p].size());
  }
  CompareGates(c, inputs, rows,
               {gates::OutputWords(c, 0, run.result[0], rows), gates::OutputWords(c, 1, run.result[1], rows)}, &out);
  if (!mirror.empty()) WriteMirror(mirror, run::OpenedWires(s, backend, secrets, none, run.frame));
  return out;
}

std::vector<Ints> RandomInputs(const Composition& c, int64_t rows) {
  std::vector<Ints> out;
  for (size_t i = 0; i < c.text().inputs.size(); ++i) {
    const gates::ValueType& type = c.text().inputs[i].type;
    Ints x(size_t(gates::CountOf(c, int(i), rows)));
    RandomBytes({reinterpret_cast<uint8_t*>(x.data()), x.size() * sizeof x[0]});
    for (int64_t& v : x) v = int64_t(type.low + gates::Bound(uint64_t(v)) % (type.high - type.low + 1));
    out.push_back(std::move(x));
  }
  return out;
}

std::vector<Ints> EveryInput(const Composition& c, int64_t most) {
  gates::Bound count = 1;
  for (const gates::InputStatement& in : c.text().inputs) {
    if (in.type.shape != pfss::Shape{gates::kRows}) return {};
    count *= in.type.high - in.type.low + 1;
    if (count > most) return {};
  }
  std::vector<Ints> out;
  int64_t stride = 1;
  for (const gates::InputStatement& in : c.text().inputs) {
    const auto size = int64_t(in.type.high - in.type.low + 1);
    Ints x;
    for (int64_t i = 0; i < int64_t(count); ++i) x.push_back(int64_t(in.type.low) + i / stride % size);
    stride *= size;
    out.push_back(std::move(x));
  }
  return out;
}

}  // namespace suf::apps
