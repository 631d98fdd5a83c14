// The command `suf embed`.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>

#include "apps/log.hpp"
#include "apps/results.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/signals.hpp"
#include "apps/texts.hpp"
#include "suf/base/cores.hpp"
#include "suf/base/file.hpp"
#include "suf/model/vocabulary.hpp"
#include "suf/roles/estimate.hpp"
#include "suf/roles/lanes.hpp"
#include "suf/roles/model.hpp"

namespace suf::apps {

namespace {

using Clock = std::chrono::steady_clock;

// The signal that stops the session; 0 if none came.
struct Stop {
  std::atomic<int> signal{0};
  // Handles a signal during the session.
  void Take(int which, int turn) {
    if (turn > 1) EndBy(which, "suf: embed ended at once by a signal; the text in flight is lost with its keys\n");
    signal = which;
    log::Info("embed: ending after the text in flight; a second Ctrl-C or SIGTERM ends at once, and its keys are lost");
  }
};

// Reads the texts of the command, as ids.
std::vector<TextLine> Texts(const EmbedArgs& a, const nn::Plan& plan) {
  auto lines = ReadTexts(a.source);
  if (!a.source.ids.empty()) {
    TokenizeAll(nullptr, LimitsOf(plan, a.truncate), &lines);
    return lines;
  }
  if (a.vocab.empty()) Fail(Cause::kInput, "texts need the vocabulary of the plan's model; name it with --vocab");
  const auto tokenizer = roles::LoadTokenizer(a.vocab, plan);
  // it determines the number of tokens, which the model owner sees
  const bool known = !model::KnownVocabulary(plan.tokenizer).empty();
  (known ? log::Info : log::Warn)("embed: " + VocabularyOf(plan.tokenizer));
  TokenizeAll(&tokenizer, LimitsOf(plan, a.truncate), &lines);
  return lines;
}

// Returns the number of lines that can be used.
size_t UsableIn(const std::vector<TextLine>& lines) {
  return size_t(std::count_if(lines.begin(), lines.end(), [](const TextLine& l) { return l.error.empty(); }));
}

// The usable lines as texts. Adds their results to a ResultWriter in the order of the lines, with the others between.
class OrderedResults {
 public:
  OrderedResults(std::vector<TextLine>& lines, ResultWriter& results)
      : lines_(lines), results_(results), next_(lines.begin()) {
    for (TextLine& l : lines)
      if (l.error.empty()) usable_.push_back(&l);
  }
  // Returns the texts, once.
  std::vector<model::Ids> Texts() {
    std::vector<model::Ids> texts;
    for (TextLine* l : usable_) texts.push_back(std::move(l->ids));
    return texts;
  }
  size_t texts() const { return usable_.size(); }
  // Takes the result of a text. It is added when all texts before it are.
  void Done(size_t text, roles::Embedding e) {
    early_.emplace(text, std::move(e));
    ++done_;
    for (auto it = early_.begin(); it != early_.end() && it->first == added_; it = early_.erase(it)) {
      TextLine* const line = usable_[added_++];
      Pass(line);
      results_.Add({.line = line, .embedding = std::move(it->second)});
      ++next_;
    }
  }
  // Returns how many texts are done.
  size_t done() const { return done_; }
  // Adds the unusable lines at the end.
  void Finish() { Pass(nullptr); }

 private:
  // Adds the unusable lines before this one.
  void Pass(const TextLine* until) {
    for (; next_ != lines_.end() && &*next_ != until; ++next_) results_.Add({.line = &*next_});
  }
  std::vector<TextLine>& lines_;
  ResultWriter& results_;
  std::vector<TextLine*> usable_;
  std::vector<TextLine>::iterator next_;
  std::map<size_t, roles::Embedding> early_;
  size_t added_ = 0, done_ = 0;
};

// Runs the texts over several sessions. Returns how many are done.
size_t RunParallel(roles::ModelEngine& engine, store::Home& store, proto::DialDealer dealer,
                   roles::Lanes::Options options, OrderedResults& results, Bar& bar) {
  const auto done = [&](size_t text, roles::Embedding e) {
    results.Done(text, std::move(e));
    bar.At(double(results.done()) / double(results.texts()),
           Str(results.done(), " of ", Plural(results.texts(), "text"), " done"));
  };
  options.client.progress = {};
  if (options.client.audits)
    return roles::RunInLanes(engine, store, std::move(dealer), std::move(options), results.Texts(), done);
  std::atomic<bool> failed{false};
  std::exception_ptr error;
  options.client.stop = [&failed, stop = options.client.stop] { return failed || stop(); };
  roles::Lanes lanes(engine, store, std::move(dealer), std::move(options));
  lanes.SubmitAll(results.Texts(), 0, [&](size_t text, roles::LaneResult result) {
    if (auto* e = std::get_if<roles::Embedding>(&result)) return done(text, std::move(*e));
    try {
      std::rethrow_exception(std::get<std::exception_ptr>(result));
    } catch (const roles::LanesClosed&) {  // after a signal, or after an error
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  });
  lanes.Wait();
  lanes.Close();
  if (error) std::rethrow_exception(error);
  return results.done();
}

// The number of lines that were embedded, and the signal that stopped that; 0 if none came.
struct SessionOutcome {
  size_t done;
  int signal;
};
// Embeds the usable lines in sessions with the model owner. Adds all lines to `writer` in order. Fewer lines are done
// if the sessions ended early, for a signal or because stdout has no reader.
SessionOutcome RunSessions(const EmbedArgs& a, const net::Credentials& own, roles::ModelEngine& engine,
                           std::vector<TextLine>& lines, ResultWriter& writer) {
  OrderedResults results(lines, writer);
  const size_t usable = results.texts();
  PartyStore store("embed", a.store);
  const auto recorder = RecorderOf(a);
  const auto timeout = Timeout(a.timeout);
  Bar receiving("embed"), bar("embed", Bar::Log::kRare);
  Stop stop;
  roles::Lanes::Options options{.parallel = a.parallel, .batch = a.batch};
  options.client = {.keys = KeysOf(a.keys, store), .one_by_one = a.one_by_one, .audits = a.audit};
  options.client.variants = engine.Allowed(a.variant);
  options.client.keys.setup = [&](uint64_t came, uint64_t all) {
    receiving.At(double(came) / double(all),
                 Str("receiving the masked weights, ", Bytes10(int64_t(all)), ", once for this store"));
    if (came == all) receiving.Clear();
  };
  options.client.progress = [&](size_t text, double done, const std::string& what) {
    bar.At(done, what, Str("text ", text + 1, " of ", usable));
  };
  options.client.waits = [&](uint32_t place, uint32_t ms) {
    bar.At(0, Str("others run first: place ", place, ", about ", Fixed(ms / 1e3, 0), " s"));
  };
  options.client.audited = [] { log::Info("embed: the model owner audited a bundle and found nothing wrong"); };
  options.client.stop = [&] { return stop.signal != 0 || writer.Stop(); };
  options.dial = [&](std::stop_token ends) {
    return net::Dial(own, net::Address::Parse(a.connect), Role::kModel, timeout, std::move(ends), a.streams);
  };
  options.opened = [&, first = true](const roles::DataOwner::Session& session) mutable {
    Warn("embed", session.notices());
    if (const auto& link = session.link(); link && first)
      log::Info(Str("embed: the link has a round trip of ", Fixed(double(link->trip_us) / 1e3, 2), " ms and ",
                    Fixed(double(link->rate) / 1e6, 0), " Mb/s; each text takes the cheapest variant for it"));
    first = false;
  };
  auto dealer = CallDealer(own, a.dealer, timeout, a.streams);
  std::optional<SignalTaker> taker;
  const auto take_signals = [&] {
    KeepPages();
    taker.emplace([&](int signal, int turn) { stop.Take(signal, turn); });
  };
  auto begun = Clock::now();
  if (a.parallel > 1 || a.batch > 1) {
    take_signals();
    (void)RunParallel(engine, store, std::move(dealer), std::move(options), results, bar);
  } else {
    const auto ch = options.dial({});
    ch->set_recorder(recorder.get());
    roles::DataOwner owner(engine, store, std::move(dealer), options.client);
    roles::DataOwner::Session session(owner, *ch);
    options.opened(session);
    take_signals();
    begun = Clock::now();
    (void)session.Run(results.Texts(), [&](size_t text, roles::Embedding e) { results.Done(text, std::move(e)); });
    if (results.done() == usable) session.End();
  }
  bar.Clear();
  const size_t done = results.done();
  if (done < usable) {
    if (!stop.signal)
      log::Info(Str("embed: stdout takes no more results; ", done, " of ", Plural(usable, "text"), " are done"));
    return {done, stop.signal};
  }
  results.Finish();
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  log::Info(Str("embed: ", Plural(done, "sentence"), " in ", Fixed(seconds, 2), " s, ",
                Fixed(double(done) / seconds, 2), " a second"));
  return {done, stop.signal};
}

// Refuses jobs and sessions that need more memory than the machine has, and a record of several sessions.
void CheckMemory(const EmbedArgs& a, roles::ModelEngine& engine, const std::vector<TextLine>& lines) {
  if (a.parallel > 1 && !a.record.empty())
    Fail(Cause::kInput, "--record writes the frames of one session, and --parallel asks for ", a.parallel,
         "; leave out one of both");
  if (a.parallel == 1 && a.batch == 1) return;
  size_t longest = 0;
  for (const TextLine& l : lines)
    if (l.error.empty()) longest = std::max(longest, l.ids.size());
  const uint64_t window = a.audit ? store::KeySource::kWhole : uint64_t(a.keys.window) << 20;
  const auto machine = int64_t(MachineMemory());
  // Returns the bytes of so many texts in a batch, and of its sessions.
  const auto bytes = [&](int texts) {
    const roles::MemoryNeeds needs =
        roles::NeedsOf(engine, store::JobOf(uint32_t(longest), 0, uint32_t(texts)), Role::kData, window);
    return (2 * needs.keys + needs.frames + needs.values) * a.parallel + needs.weights;
  };
  const int64_t needed = bytes(a.batch);
  if (needed <= machine) return;
  int most = a.batch;
  while (most > 1 && bytes(most) > machine) most /= 2;
  Fail(Cause::kInput, a.batch > 1 ? "--batch " : "--parallel ", a.batch > 1 ? a.batch : a.parallel, " takes ",
       Bytes10(needed), " of memory for texts of ", longest, " tokens, and this machine has ", Bytes10(machine),
       bytes(most) <= machine && a.batch > 1 ? Str("; ask for at most ", most) : "; ask for fewer sessions");
}

}  // namespace

int RunEmbed(const EmbedArgs& a) {
  const RoleProcess process = StartRole("embed", Role::kData, a);
  roles::ModelEngine engine(roles::LoadPlan(a.plan), *process.backend);
  engine.MoveParts();
  engine.KeepTraces(uint64_t(a.traces) << 20);
  if (!a.times.empty()) engine.MeasureScopes();
  auto lines = Texts(a, engine.plan());  // before any peer is contacted
  CheckOutput();
  ResultWriter results(a, engine);
  const size_t usable = UsableIn(lines);
  if (!usable) {
    for (auto& l : lines) results.Add({.line = &l});
    results.End();
    return Finish(lines);
  }
  CheckMemory(a, engine, lines);
  // a row of floats and the number of its line
  const uint64_t row = uint64_t(roles::ResultWidth(engine.plan())) * sizeof(float) + sizeof(int64_t);
  if (!a.out.empty()) ProbeFile(a.out, 1024 + usable * row);
  // the model owner sees when the connection ends, so it ends before all is written
  const auto [done, signal] = RunSessions(a, process.own, engine, lines, results);
  results.End();
  if (signal && done < usable)
    throw Interrupt(signal, Str("embed was stopped by a signal; ", done, " of ", usable,
                                " texts have a result; run it again with the others"));
  if (done < usable) throw OutputError(EPIPE);
  return Finish(lines);
}

}  // namespace suf::apps
