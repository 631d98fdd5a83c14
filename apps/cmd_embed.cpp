// The command `suf embed`.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>

#include "apps/log.hpp"
#include "apps/results.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/signals.hpp"
#include "apps/texts.hpp"
#include "suf/base/file.hpp"
#include "suf/model/vocabulary.hpp"
#include "suf/roles/data_owner.hpp"
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

// Embeds the usable lines over one session, and adds all lines to `results`, in order. Returns the number of embedded
// lines. It is lower if the session ended early, for a signal or because stdout has no reader.
size_t Embed(roles::DataOwner::Session& session, std::vector<TextLine>& lines, ResultWriter& results, Bar& bar,
             const Stop& stop) {
  std::vector<TextLine*> usable;
  std::vector<model::Ids> texts;
  for (TextLine& l : lines)
    if (l.error.empty()) {
      usable.push_back(&l);
      texts.push_back(std::move(l.ids));
    }
  auto next = lines.begin();
  auto pass = [&](const TextLine* until) {  // the unusable lines before it
    for (; next != lines.end() && &*next != until; ++next) results.Add({.line = &*next});
  };
  const auto begun = Clock::now();
  const size_t done = session.Run(std::move(texts), [&](size_t text, roles::Embedding e) {
    pass(usable[text]);
    results.Add({.line = usable[text], .embedding = std::move(e)});
    ++next;
  });
  bar.Clear();
  if (done < usable.size()) {
    if (!stop.signal)
      log::Info(Str("embed: stdout takes no more results; ", done, " of ", Plural(usable.size(), "text"), " are done"));
    return done;
  }
  session.End();
  pass(nullptr);
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  log::Info(Str("embed: ", Plural(done, "sentence"), " in ", Fixed(seconds, 2), " s, ",
                Fixed(double(done) / seconds, 2), " a second"));
  return done;
}

// The number of lines that a session has embedded, and the signal that stopped it; 0 if none came.
struct SessionOutcome {
  size_t done;
  int signal;
};
// Embeds the usable lines in a session with the model owner, with keys from the dealer.
SessionOutcome RunSession(const EmbedArgs& a, const net::Credentials& own, roles::ModelEngine& engine,
                          std::vector<TextLine>& lines, ResultWriter& results) {
  const size_t usable = UsableIn(lines);  // counted before results set errors of lines
  PartyStore store("embed", a.store);
  const auto recorder = RecorderOf(a);
  const auto timeout = Timeout(a.timeout);
  Bar receiving("embed"), bar("embed", Bar::Log::kRare);
  Stop stop;
  roles::DataOwner::Options options{.keys = KeysOf(a.keys, store), .one_by_one = a.one_by_one, .audits = a.audit};
  options.variants = engine.Allowed(a.variant);
  options.keys.setup = [&](uint64_t came, uint64_t all) {
    receiving.At(double(came) / double(all),
                 Str("receiving the masked weights, ", Bytes10(int64_t(all)), ", once for this store"));
    if (came == all) receiving.Clear();
  };
  options.progress = [&](size_t text, double done, const std::string& what) {
    bar.At(done, what, Str("text ", text + 1, " of ", usable));
  };
  options.audited = [] { log::Info("embed: the model owner audited a bundle and found nothing wrong"); };
  options.stop = [&] { return stop.signal != 0 || results.Stop(); };
  roles::DataOwner owner(engine, store, CallDealer(own, a.dealer, timeout, a.streams), std::move(options));
  auto ch = net::Dial(own, net::Address::Parse(a.connect), Role::kModel, timeout, {}, a.streams);
  ch->set_recorder(recorder.get());
  roles::DataOwner::Session session(owner, *ch);
  Warn("embed", session.notices());
  if (const auto& link = session.link())
    log::Info(Str("embed: the link has a round trip of ", Fixed(double(link->trip_us) / 1e3, 2), " ms and ",
                  Fixed(double(link->rate) / 1e6, 0), " Mb/s; each text takes the cheapest variant for it"));
  KeepPages();
  const SignalTaker taker([&](int signal, int turn) { stop.Take(signal, turn); });
  const size_t done = Embed(session, lines, results, bar, stop);
  return {done, stop.signal};
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
  // a row of floats and the number of its line
  const uint64_t row = uint64_t(roles::ResultWidth(engine.plan())) * sizeof(float) + sizeof(int64_t);
  if (!a.out.empty()) ProbeFile(a.out, 1024 + usable * row);
  // the model owner sees when the connection ends, so it ends before all is written
  const auto [done, signal] = RunSession(a, process.own, engine, lines, results);
  results.End();
  if (signal && done < usable)
    throw Interrupt(signal, Str("embed was stopped by a signal; ", done, " of ", usable,
                                " texts have a result; run it again with the others"));
  if (done < usable) throw OutputError(EPIPE);
  return Finish(lines);
}

}  // namespace suf::apps
