#include "apps/fn/fn_pair.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>

#include "apps/show.hpp"
#include "suf/base/digest.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/ring/modular.hpp"
#include "suf/run/pair.hpp"

namespace suf::apps {

using pfss::Schedule;
using pfss::Trace;

namespace {

// Returns the most bytes of values that a role holds at one time, in words of 8 bytes.
int64_t Peak(const Schedule& s, Role role) {
  const std::vector<pfss::Program> programs = pfss::Programs(s, role);
  std::vector<int> last = pfss::LastUse(s, programs);
  auto bytes = [&](int i) {
    const pfss::Node& n = s.trace().node(i);
    const int64_t words = n.ring.kind == pfss::Ring::kXor ? (n.ring.bits + 63) / 64 : 1;
    return pfss::Size(n.shape) * words * 8;
  };
  int64_t now = 0, peak = 0;
  int at = 0;
  for (const pfss::Program& p : programs)
    for (int i : p.nodes) {
      now += bytes(i);
      peak = std::max(peak, now);
      for (int a : s.trace().node(i).args)
        if (last[size_t(a)] == at) {
          now -= bytes(a);
          last[size_t(a)] = -1;
        }
      ++at;
    }
  return peak;
}

int64_t Free() {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("MemAvailable:")) return std::stoll(line.substr(13)) * 1024;
  return int64_t{1} << 40;  // unknown: the allocation decides
}

}  // namespace

PairInput Shared(std::vector<uint64_t> x, int n) {
  PairInput out;
  std::vector<uint64_t> mask(x.size());
  RandomBytes({reinterpret_cast<uint8_t*>(mask.data()), mask.size() * sizeof(uint64_t)});
  for (size_t i = 0; i < x.size(); ++i) {
    out.shares[0].push_back(mask[i] & ring::Mask(n));
    out.shares[1].push_back((x[i] - mask[i]) & ring::Mask(n));
  }
  out.x = std::move(x);
  return out;
}

void Refuse(const Schedule& s, int64_t count, const char* unit) {
  const int64_t keys = s.key_bytes(0) + s.key_bytes(1),
                values = std::max(Peak(s, Role::kDealer), Peak(s, Role(0)) + Peak(s, Role(1))), need = keys + values,
                have = Free();
  if (need <= have) return;
  const auto fits = int64_t(double(count) * 0.9 * double(have) / double(need));
  Fail(Cause::kResource, count, " ", unit, " need about ", Bytes10(need), " of memory and ", Bytes10(have),
       " are free; run at most ", fits, " at a time");
}

void Refuse(const gates::FunctionPlan& plan, int64_t count) {
  Trace t;
  gates::Emit(t, plan, count);
  Refuse(Schedule(t), count);
}

TraceRun RunTrace(const Schedule& s, const std::string& what, std::array<run::Inputs, 3>& inputs, int64_t count,
                  const char* unit, pfss::Backend& backend) {
  Refuse(s, count, unit);
  if (const pfss::LintReport lint = pfss::Lint(s); !lint.faults.empty())
    Fail(Cause::kRefused, "the trace of ", what, " does not pass the lint (", lint.faults[0],
         "); report it, and use another lowering");
  TraceRun out;
  for (auto& key : out.secrets.key) key.emplace(Secret::Random());
  out.secrets.rho = RandomHash();
  const auto begin = std::chrono::steady_clock::now();
  out.run = run::RunPair({s, {&backend, &backend, &backend}, {&inputs[0], &inputs[1], &inputs[2]}, out.secrets});
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  out.bill = compiler::BillOf(s);
  out.trace = s.trace().digest();
  // replace the estimates by the bytes that were sent and dealt
  for (size_t p : {0, 1}) {
    out.bill.sent[p] = out.run.online[p] + out.run.offline[p];
    out.bill.key[p] = int64_t(out.run.key[p].size());
  }
  return out;
}

PairResult RunFunction(const gates::FunctionPlan& plan, const PairInput& input, pfss::Backend& backend) {
  const auto count = int64_t(input.x.size());
  Trace t(backend.capabilities());
  gates::Emit(t, plan, count);
  const Schedule s(t);
  std::array<run::Inputs, 3> inputs;
  const char* const name = gates::InputOf(plan.from);
  if (plan.from == gates::Origin::kShared)
    for (size_t p : {0, 1}) inputs[p].Set(name, input.shares[p]);
  else
    inputs[plan.from == gates::Origin::kP1].Set(name, input.x);
  const TraceRun ran = RunTrace(s, gates::Name(plan), inputs, count, "values", backend);
  PairResult out;
  out.seconds = ran.seconds;
  out.bill = ran.bill;
  out.trace = ran.trace;
  std::array<std::vector<std::vector<uint64_t>>, 2> y;
  for (size_t p : {0, 1})
    if (!ran.run.result[p].empty()) y[p] = gates::ChannelWords(plan, ran.run.result[p], count);
  Join(plan, std::move(y), &out);
  return out;
}

void Join(const gates::FunctionPlan& plan, std::array<std::vector<std::vector<uint64_t>>, 2> y, PairResult* out) {
  if (plan.to != gates::To::kShared) {
    if (plan.to == gates::To::kBoth && y[0] != y[1])
      Fail(Cause::kRefused, "the parties learned different values; report it");
    out->words = std::move(y[plan.to == gates::To::kP0 ? 0 : 1]);
    return;
  }
  const std::vector<func::OutputChannel> channels = func::ChannelsOf(plan.f);
  out->words = y[0];
  for (size_t c = 0; c < channels.size(); ++c)
    for (size_t i = 0; i < y[1][c].size(); ++i)
      out->words[c][i] = (y[0][c][i] + y[1][c][i]) & ring::Mask(channels[c].bits);
  out->shares = std::move(y);
}

Wrong Compare(const func::Function& f, const std::vector<uint64_t>& x,
              const std::vector<std::vector<uint64_t>>& words) {
  const std::vector<func::OutputChannel> channels = func::ChannelsOf(f);
  std::optional<func::Evaluator> fast;
  if (auto* s = std::get_if<func::Suf>(&f)) fast.emplace(*s);
  Wrong out;
  for (size_t i = 0; i < x.size(); ++i) {
    const std::vector<int64_t> want = fast ? fast->Channels(x[i]) : func::Channels(f, x[i]);
    bool equal = true;
    for (size_t c = 0; c < channels.size(); ++c)
      equal &= words[c][i] == (uint64_t(want[c]) & ring::Mask(channels[c].bits));
    if (!equal && out.count++ == 0) out.first = i;
  }
  return out;
}

}  // namespace suf::apps
