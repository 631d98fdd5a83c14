#include "apps/call.hpp"

#include <algorithm>
#include <cctype>
#include <mutex>

#include "apps/fn/fn_pair.hpp"
#include "apps/log.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/signals.hpp"

namespace suf::apps {

void CheckPlanHash(const Hash& plan, const std::string& expected, const char* printer) {
  if (expected.empty()) return;
  const std::string hash = Hex(plan);
  std::string lower = expected;
  for (char& c : lower) c = char(std::tolower(static_cast<unsigned char>(c)));
  if (lower.size() != hash.size() || lower.find_first_not_of("0123456789abcdef") != lower.npos)
    Fail(Cause::kInput, "--plan-hash takes the ", hash.size(), " hexadecimal digits that ", printer, " prints; got ",
         expected.size(), " characters");
  if (lower != hash)
    Fail(Cause::kRefused, "the plan has the hash ", hash, ", and --plan-hash names another one",
         "; ask for the plan that was agreed");
}

void CheckCount(roles::Engine& engine, size_t count) {
  Refuse(*engine.Compile(int(std::min<size_t>(count, INT32_MAX)))->schedule, int64_t(count), engine.unit().name);
}

void AnswerCalls(const char* command, const AnswerArgs& a, const net::Credentials& own, roles::Engine& engine,
                 const std::function<roles::ServerData(LearnedHook)>& data,
                 const std::function<void(uint32_t n, const std::vector<uint64_t>& words)>& show) {
  std::mutex m;  // guards the output and `unwritten`, because sessions end in their own threads
  std::exception_ptr unwritten;
  auto learned = [&](uint32_t n, std::vector<uint64_t> words) {
    const std::lock_guard l(m);
    try {
      show(n, words);
    } catch (const Error&) {
      unwritten = std::current_exception();
    }
    Wipe(words.data(), words.size() * sizeof(uint64_t));
  };
  Answer(
      command, a, own, engine.unit(),
      [&](store::Home& home, proto::Dealers dealers, roles::Server::Options options) {
        return std::make_unique<roles::Server>(engine, data(learned), home, std::move(dealers), std::move(options));
      },
      [&] {
        const std::lock_guard l(m);
        return unwritten != nullptr;
      });
  if (unwritten) std::rethrow_exception(unwritten);
}

namespace {

// Returns the number of values or rows of the call.
uint32_t CountOfCall(const PartyCall& call, uint32_t brought, roles::Engine& engine) {
  const char* const unit = engine.unit().name;
  if (call.count && brought && brought != call.count)
    Fail(Cause::kInput, "we bring ", call.count, " ", unit, ", and P0 brings ", brought, "; give both the same number");
  if (!call.count && !brought)
    Fail(Cause::kPeer, "P0 does not announce its number of ", unit, "; install the same suf on both sides");
  if (call.count) return call.count;
  CheckCount(engine, brought);
  return brought;
}

}  // namespace

CallResult RunCall(const PartyCall& call, const net::Credentials& own, roles::Engine& engine) {
  const char* const command = call.command;
  const PartyArgs& a = call.args;
  PartyStore store(command, a.store);
  const auto recorder = RecorderOf(a);
  const auto timeout = Timeout(a.timeout);
  Bar bar(command, Bar::Log::kRare);
  roles::Client::Options options{.keys = KeysOf(a.keys, store), .audits = call.audits, .semi_honest = call.semi_honest};
  options.audited = [command] { log::Info(Str(command, ": P0 audited a bundle and found nothing wrong")); };
  options.progress = [&](size_t, double done, const std::string& what) { bar.At(done, what); };
  proto::Dealers dealers = DealersOf(own, a.dealer, timeout, a.streams);
  if (dealers.size() > 1)
    Fail(Cause::kInput, "--dealer lists ", dealers.size(), " dealers, and ", command,
         " uses one for its call; name one of them");
  roles::Client client(engine, store, std::move(dealers), std::move(options));
  auto ch = net::Dial(own, net::Address::Parse(call.connect), Role::kModel, timeout, {}, a.streams);
  ch->set_recorder(recorder.get());
  roles::Client::Session session(client, *ch);
  Warn(command, session.notices());
  const uint32_t count = CountOfCall(call, session.brought(), engine);
  KeepPages();
  std::vector<roles::JobRequest> jobs;
  jobs.push_back(call.request(count));
  CallResult out;
  const std::string last =
      Str("suf: ", command, " ended at once by a signal; the call in flight is lost with its keys\n");
  const SignalTaker taker([&](int signal, int turn) {
    if (turn > 1) EndBy(signal, last.c_str());
    log::Info(Str(command, ": ending after the call in flight; a second Ctrl-C or SIGTERM ends at once, and its keys ",
                  "are lost"));
  });
  session.Run(std::move(jobs), [&](size_t, roles::JobResult r) { out.job = std::move(r); });
  try {
    session.End();
  } catch (const Error& e) {
    if (!out.job.work) throw;  // the job has no result
    out.end = e;
  }
  return out;
}

void AddCallCosts(nlohmann::ordered_json* row, const Hash& plan, const roles::JobResult& job) {
  nlohmann::ordered_json& out = *row;
  out["serial"] = job.serial;
  out["plan"] = Hex(plan);
  out["wire_bytes"] = {job.bytes.p0, job.bytes.p1};
  out["ms"] = {{"fetch", job.fetch_ms}, {"ahead", job.ahead_ms}, {"online", job.times.total * 1e3}};
  out["within_ms"] = {{"deal", job.deal_ms}, {"keys", job.keys_ms}};
}

std::string CallTimes(const roles::JobResult& job) {
  return Str(Fixed(job.times.total * 1e3, 1), " ms online, ", Fixed(job.fetch_ms, 1), " ms until keys arrived, ",
             Fixed(job.deal_ms, 1), " ms of dealing");
}

}  // namespace suf::apps
