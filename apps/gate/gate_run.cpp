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
  Refuse(pfss::Schedule(t), rows, "rows");
}

GateRun RunGates(const Composition& c, const gates::GateChoices& choices, const std::vector<Ints>& inputs, int64_t rows,
                 pfss::Backend& backend, const std::string& mirror) {
  pfss::Trace t(backend.capabilities());
  gates::Emit(t, c, choices, rows);
  const pfss::Schedule s(t);
  if (!mirror.empty()) ProbeMirror(mirror);
  std::array<run::Inputs, 2> own = InputsOfParties(c, inputs);
  std::array<run::Inputs, 3> given{std::move(own[0]), std::move(own[1]), run::Inputs()};
  const TraceRun ran = RunTrace(s, "the composition", given, rows, "rows", backend);
  if (!mirror.empty()) WriteMirror(mirror, run::OpenedWires(s, backend, ran.secrets, given[2], ran.run.frame));
  GateRun out;
  out.seconds = ran.seconds;
  out.bill = ran.bill;
  out.trace = ran.trace;
  CompareGates(c, inputs, rows,
               {gates::OutputWords(c, 0, ran.run.result[0], rows), gates::OutputWords(c, 1, ran.run.result[1], rows)},
               &out);
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
