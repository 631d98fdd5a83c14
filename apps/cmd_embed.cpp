// The commands `suf embed` and `suf search`.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "apps/exit.hpp"
#include "apps/log.hpp"
#include "apps/records.hpp"
#include "apps/results.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/signals.hpp"
#include "apps/texts.hpp"
#include "suf/base/file.hpp"
#include "suf/model/vocabulary.hpp"
#include "suf/roles/index_folder.hpp"
#include "suf/roles/lanes.hpp"
#include "suf/roles/model.hpp"
#include "suf/roles/resume_file.hpp"
#include "suf/service/receipts.hpp"

namespace suf::apps {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kResumeRetry = 600;  // seconds, if results are kept

// The signal that stops the session; 0 if none came.
struct Stop {
  const char* command;
  std::atomic<int> signal{0};
  // Handles a signal during the session.
  void Take(int which, int turn) {
    if (turn > 1)
      EndBy(which,
            Str("suf: ", command, " ended at once by a signal; the text in flight is lost with its keys\n").c_str());
    signal = which;
    log::Info(Str(command,
                  ": ending after the text in flight; a second Ctrl-C or SIGTERM ends at once, and its keys are lost"));
  }
};

// Reads the texts of the command, as ids. Texts that are searched stand behind the prompt of the index.
std::vector<TextLine> Texts(const EmbedArgs& a, const roles::ModelEngine& engine) {
  const nn::Plan& plan = engine.plan();
  Source source = a.source;
  if (!engine.indexes().empty() && !source.prompt) source.prompt = engine.indexes()[0]->index.text;
  auto lines = ReadTexts(source);
  const TextLimits limits = LimitsOf(plan, source, a.truncate);
  if (!source.ids.empty()) {
    TokenizeAll(nullptr, limits, &lines);
    return lines;
  }
  if (a.vocab.empty()) Fail(Cause::kInput, "texts need the vocabulary of the plan's model; name it with --vocab");
  const auto tokenizer = roles::LoadTokenizer(a.vocab, plan);
  // it determines the number of tokens, which the model owner sees
  const bool known = !model::KnownVocabulary(plan.tokenizer).empty();
  (known ? log::Info : log::Warn)(Str(a.command, ": ", VocabularyOf(plan.tokenizer)));
  if (!source.prompt && !plan.about.default_prompt.empty())
    log::Info(Str(a.command, ": the default prompt ", Quoted(plan.about.default_prompt), " stands before every text"));
  TokenizeAll(&tokenizer, limits, &lines);
  return lines;
}

// Returns the number of lines that can be used.
size_t UsableIn(const std::vector<TextLine>& lines) {
  return size_t(std::count_if(lines.begin(), lines.end(), [](const TextLine& l) { return l.error.empty(); }));
}

// The usable lines as texts. Adds their results to a ResultWriter in the order of the lines, with the others between.
class OrderedResults {
 public:
  // `metrics`, if not null, counts the jobs.
  OrderedResults(std::vector<TextLine>& lines, ResultWriter& results, service::Metrics* metrics)
      : lines_(lines), results_(results), metrics_(metrics), next_(lines.begin()) {
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
    if (metrics_ && e.work && e.place == 0) CountJob(e);  // not of an earlier run
    early_.emplace(text, std::move(e));
    ++done_;
    AddNext();
  }
  // Gives a text an error in place of a result, and goes on.
  void Skip(size_t text, const Error& error) {
    if (!skipped_++) first_.emplace(error.cause(), Str("line ", usable_[text]->i + 1, ": ", error.what()));
    usable_[text]->error = error.what();
    early_.emplace(text, std::nullopt);
    AddNext();
  }
  // Throws the first error that Skip received.
  void ThrowIfSkipped() const {
    const size_t missing = usable_.size() - done_ - skipped_;
    if (first_)
      Fail(first_->cause(), skipped_, " of ", Plural(usable_.size(), "text"), " failed",
           missing ? Str(", and ", missing, " did not run") : "", "; ", first_->what());
  }
  // Adds the results that came before those of earlier texts, which have none.
  void Flush() {
    for (auto& [text, e] : std::exchange(early_, {})) Add(text, std::move(e));
  }
  // Counts a job that ended with an error. One behind the model owner's last frame counts as done, because the result
  // may be its cause.
  void Failed(const std::exception_ptr& error, bool late) {
    if (!metrics_) return;
    try {
      std::rethrow_exception(error);
    } catch (const net::RefusalError& e) {
      metrics_->CountRefusal(e.code(), Role::kModel);
      if (e.code() == net::Refusal::kQuota) return metrics_->Ended({}, {.outcome = service::JobOutcome::kRefused});
    } catch (...) {
    }
    metrics_->Ended({}, {.outcome = late ? service::JobOutcome::kDone : service::JobOutcome::kBroken});
  }
  // Returns how many texts are done.
  size_t done() const { return done_; }
  size_t skipped() const { return skipped_; }
  // Adds the unusable lines at the end.
  void Finish() { Pass(nullptr); }

 private:
  void CountJob(const roles::Embedding& e) {
    metrics_->Ended({}, {.texts = e.texts,
                         .tokens = uint64_t{e.texts} * e.count,
                         .searches = e.hits ? e.texts : 0,
                         .duration_s = (e.ahead_ms + e.times.total * 1e3) / 1e3,
                         .bytes_sent = e.bytes.p1 + e.bytes.p1_offline,
                         .bytes_received = e.bytes.p0 + e.bytes.setup});
    metrics_->CountBundles(service::BundleFate::kUsed);
  }
  // Adds those results that no earlier text must precede.
  void AddNext() {
    for (auto it = early_.begin(); it != early_.end() && it->first == added_; it = early_.erase(it)) {
      ++added_;
      Add(it->first, std::move(it->second));
    }
  }
  void Add(size_t text, std::optional<roles::Embedding> e) {
    TextLine* const line = usable_[text];
    Pass(line);
    results_.Add({.line = line, .embedding = std::move(e)});
    ++next_;
    ++passed_;
  }
  // Adds the unusable lines before this one. Usable ones without a result have no row.
  void Pass(const TextLine* until) {
    for (; next_ != lines_.end() && &*next_ != until; ++next_)
      if (passed_ < usable_.size() && &*next_ == usable_[passed_])
        ++passed_;
      else
        results_.Add({.line = &*next_});
  }
  std::vector<TextLine>& lines_;
  ResultWriter& results_;
  service::Metrics* const metrics_;
  std::vector<TextLine*> usable_;
  std::vector<TextLine>::iterator next_;
  std::map<size_t, std::optional<roles::Embedding>> early_;  // none: of a text that was skipped
  size_t passed_ = 0, added_ = 0, done_ = 0;                 // usable lines; results in order; results
  size_t skipped_ = 0;
  std::optional<Error> first_;  // of the texts that were skipped
};

// The texts that have no result yet, with the file that keeps results, if there is one.
class TextsLeft {
 public:
  // Opens the file of --resume, and passes the results in it on. Throws the errors of ResumeFile.
  TextsLeft(const EmbedArgs& a, const roles::ModelEngine& engine, OrderedResults& results)
      : results_(results), texts_(results.Texts()) {
    for (size_t i = 0; i < texts_.size(); ++i) numbers_.push_back(i);
    if (a.resume.empty()) return;
    Hinted(Cause::kInput, "--resume names the file", [&] { file_.emplace(a.resume, engine.hash(), texts_); });
    std::vector<model::Ids> left;
    numbers_ = file_->Left();
    for (const size_t i : numbers_) left.push_back(std::move(texts_[i]));
    for (size_t i = 0; i < texts_.size(); ++i)
      if (file_->Has(i)) Restore(i);
    texts_ = std::move(left);
    if (const size_t done = file_->done())
      log::Info(Str(a.command, ": ", Plural(done, "text"), " of ", results.texts(), " are done already: ", a.resume));
  }
  // Returns the texts, once.
  std::vector<model::Ids> Take() { return std::move(texts_); }
  size_t size() const { return numbers_.size(); }
  roles::ResumeFile* file() { return file_ ? &*file_ : nullptr; }
  // Keeps the result of a text before it counts as done.
  void Done(size_t text, roles::Embedding e) {
    if (file_) file_->Add(numbers_[text], e);
    results_.Done(numbers_[text], std::move(e));
  }
  // Gives a text an error in place of a result, and goes on. One of its own is kept, because a second run would
  // show the model owner that the first one failed.
  void Skip(size_t text, const Error& e, bool own) {
    if (file_ && own) file_->AddError(numbers_[text], e);
    results_.Skip(numbers_[text], e);
  }

 private:
  void Restore(size_t text) {
    std::variant<roles::Embedding, Error> kept = file_->ResultOf(text);
    if (auto* const e = std::get_if<roles::Embedding>(&kept))
      results_.Done(text, std::move(*e));
    else
      results_.Skip(text, std::get<Error>(kept));
  }
  OrderedResults& results_;
  std::vector<model::Ids> texts_;
  std::vector<size_t> numbers_;  // of the texts among all usable ones
  std::optional<roles::ResumeFile> file_;
};

// Runs the texts over one session, in batches. Returns whether all ran.
bool RunBatches(roles::DataOwner::Session& session, TextsLeft& left, size_t most) {
  std::vector<model::Ids> texts = left.Take();
  const std::vector<std::vector<size_t>> of = roles::BatchesOf(roles::LengthsOf(texts), most);
  const auto done = [&](size_t batch, std::vector<roles::Embedding> all) {
    for (size_t k = 0; k < all.size(); ++k) left.Done(of[batch][k], std::move(all[k]));
  };
  return session.RunBatches(roles::MoveToBatches(std::move(texts), of), done) == of.size();
}

// Whether the model owner would refuse all texts for the same reason, its quota for example.
bool ConcernsAll(const Error& e) {
  const auto* const refusal = dynamic_cast<const net::RefusalError*>(&e);
  return refusal && refusal->cause() == Cause::kRefused && refusal->code() != net::Refusal::kDealer;
}

// Runs the texts over several sessions. With several dealers or processes of the model owner, a text that fails leaves
// the others alone. So does an error of its own if results are kept. An error that concerns all ends the sessions.
void RunParallel(roles::ModelEngine& engine, store::Home& store, proto::Dealers dealers, roles::Lanes::Options options,
                 TextsLeft& left, OrderedResults& results, Bar& bar) {
  const auto done = [&](size_t text, roles::Embedding e) {
    left.Done(text, std::move(e));
    bar.At(double(results.done()) / double(results.texts()),
           Str(results.done(), " of ", Plural(results.texts(), "text"), " done"));
  };
  options.client.progress = {};
  if (options.client.audits)
    return void(roles::RunInLanes(engine, store, std::move(dealers), std::move(options), left.Take(), done));
  const bool goes_on = dealers.size() > 1 || options.servers > 1;
  options.close_on_error = !goes_on;
  std::atomic<bool> refused{false};
  options.client.stop = [&refused, stop = options.client.stop] { return refused || stop(); };
  std::exception_ptr error;  // the first one; a late one ends nothing
  roles::Lanes lanes(engine, store, std::move(dealers), std::move(options));
  lanes.SubmitAll(left.Take(), 0, [&](size_t text, roles::LaneResult result) {
    if (auto* e = std::get_if<roles::Embedding>(&result)) return done(text, std::move(*e));
    const auto* const late = std::get_if<roles::LateError>(&result);
    const std::exception_ptr failure = late ? late->error : std::get<std::exception_ptr>(result);
    try {
      std::rethrow_exception(failure);
    } catch (const roles::LanesClosed&) {  // after a signal, or after an error
    } catch (const Error& e) {
      results.Failed(failure, late != nullptr);
      if (goes_on || (late && left.file())) {
        left.Skip(text, e, late != nullptr);
        refused = refused || ConcernsAll(e);
      } else if (!error) {
        error = failure;
      }
    } catch (...) {
      results.Failed(failure, late != nullptr);
      if (!error) error = failure;
    }
  });
  lanes.Wait();
  lanes.Close();
  if (error) std::rethrow_exception(error);
}

// Returns the number of sessions: two by default, so that one text uses the processor while another one waits. It is
// one if sessions would multiply bundles or audits, or if their order or their frames count. Every dealer has one.
int SessionsOf(const EmbedArgs& a, size_t dealers) {
  if (a.parallel) return a.parallel;
  const int sessions = a.one_by_one || a.audit || a.keys.ahead || !a.record.empty() ? 1 : 2;
  return std::max(sessions, int(dealers));
}

// The number of lines that were embedded, and the signal that stopped that; 0 if none came.
struct SessionOutcome {
  size_t done;
  int signal;
};
// Embeds the usable lines in sessions with the model owner. Adds all lines to `writer` in order. Fewer lines are done
// if the sessions ended early. They do for a signal, if stdout has no reader, or if the disk takes no more receipts.
SessionOutcome RunSessions(const EmbedArgs& a, const net::Credentials& own, roles::ModelEngine& engine,
                           std::vector<TextLine>& lines, ResultWriter& writer, service::ReceiptFile* receipts,
                           const roles::SealedDocuments* documents) {
  RoleRecords records(a.command, Role::kData, {.metrics = a.metrics});
  OrderedResults results(lines, writer, records.metrics());
  const size_t usable = results.texts();
  TextsLeft left(a, engine, results);
  const size_t restored = results.done();
  PartyStore store(a.command, a.store);
  const auto recorder = RecorderOf(a);
  const auto timeout = Timeout(a.timeout);
  Bar receiving(a.command), bar(a.command, Bar::Log::kRare);
  Stop stop{a.command};
  const std::vector<net::Address> servers = net::Address::ParseList(a.connect);
  proto::Dealers dealers = DealersOf(own, a.dealer, timeout, a.streams);
  const int sessions = SessionsOf(a, dealers.size());
  const double retry = a.retry.value_or(left.file() && !a.audit ? kResumeRetry : 0);
  const bool lanes =
      !a.index_plan.empty() || sessions > 1 || servers.size() > 1 || dealers.size() > 1 || left.file() || retry > 0;
  roles::Lanes::Options options{.parallel = sessions, .batch = a.batch, .servers = uint8_t(servers.size())};
  options.retry = net::Millis(int64_t(retry * 1000));
  options.retries = [&](const Error& e, net::Millis pause) {
    log::Warn(Str(a.command, ": ", e.what(), "; tried again in ", Fixed(double(pause.count()) / 1e3, 1), " s"));
  };
  options.client = {.keys = KeysOf(a.keys, store), .one_by_one = a.one_by_one, .audits = a.audit};
  options.client.variants = engine.Allowed(a.variant);
  options.client.search = engine.indexes().empty() ? nullptr : engine.indexes()[0].get();
  options.client.fetch = a.fetch;
  options.client.documents = documents;
  options.client.memory = MemoryLimit(a.memory);
  options.client.keys.setup = [&](uint64_t came, uint64_t all) {
    receiving.At(double(came) / double(all),
                 Str("receiving the masked weights, ", Bytes10(int64_t(all)), ", once for this store"));
    if (came == all) receiving.Clear();
  };
  options.client.progress = [&](size_t text, double done, const std::string& what) {
    bar.At(done, what, Str("text ", text + 1, " of ", usable));
  };
  std::atomic<bool> waited{false};
  options.client.waits = [&](uint32_t place, uint32_t ms) {
    const std::string what = Str("others run first: place ", place, ", about ", Fixed(std::ceil(ms / 1e3), 0), " s");
    if (!waited.exchange(true)) log::Info(Str(a.command, ": ", what));
    if (sessions == 1) bar.At(0, what);
  };
  if (service::Metrics* const metrics = records.metrics())
    options.client.entered = [metrics](roles::JobState s) {
      const bool runs = s == roles::JobState::kRunning;
      return std::make_shared<service::StateMark>(
          metrics->Enter(runs ? service::InferenceState::kRunning : service::InferenceState::kWaiting));
    };
  options.client.audited = [&] {
    log::Info(Str(a.command, ": the model owner audited a bundle and found nothing wrong"));
  };
  options.client.stop = [&] {
    return stop.signal != 0 || writer.Stop() || (receipts && receipts->failed()) ||
           (left.file() && left.file()->failed());
  };
  if (receipts) options.client.keys.receipts = [receipts](const proto::Receipt& r) { receipts->Add(r); };
  options.dial = [&](std::stop_token ends, size_t server) {
    return net::Dial(own, servers[server], Role::kModel, timeout, std::move(ends), a.streams);
  };
  options.moves = [&](size_t, const Error& e) {
    log::Warn(Str(a.command, ": ", e.what(), "; another of its processes is tried"));
  };
  auto begun = Clock::now();
  options.opened = [&, first = true](const roles::DataOwner::Session& session) mutable {
    if (first) begun = Clock::now();
    if (left.file()) left.file()->UseWeights(session.weights());
    Warn(a.command, session.notices());
    if (const auto& link = session.link(); link && first)
      log::Info(Str(a.command, ": the link has a round trip of ", Fixed(double(link->trip_us) / 1e3, 2), " ms and ",
                    Fixed(double(link->rate) / 1e6, 0), " Mb/s; each text takes the cheapest variant for it"));
    if (session.link() && records.metrics()) records.metrics()->SetRoundTrip(double(session.link()->trip_us) / 1e6);
    first = false;
  };
  std::optional<SignalTaker> taker;
  const auto take_signals = [&] {
    KeepPages();
    taker.emplace([&](int signal, int turn) { stop.Take(signal, turn); });
  };
  if (!left.size()) {
    log::Info(Str(a.command, ": all texts are done already"));
  } else if (lanes) {
    take_signals();
    try {
      RunParallel(engine, store, std::move(dealers), std::move(options), left, results, bar);
    } catch (const Error& e) {
      results.Flush();
      if (usable > 1)
        throw Error(e.cause(), Str(e.what(), " (", results.done(), " of ", usable, " texts have a result)"));
      throw;
    }
  } else {
    const auto ch = options.dial({}, 0);
    ch->set_recorder(recorder.get());
    roles::DataOwner owner(engine, store, std::move(dealers), options.client);
    roles::DataOwner::Session session(owner, *ch);
    options.opened(session);
    take_signals();
    bool ran = false;  // all texts
    try {
      ran = RunBatches(session, left, size_t(a.batch));
      if (ran) session.End();
    } catch (...) {
      results.Failed(std::current_exception(), ran);
      throw;
    }
  }
  bar.Clear();
  results.Flush();
  const size_t done = results.done();
  if (left.file()) left.file()->Finish();
  if (results.skipped() && !stop.signal) {
    results.Finish();
    writer.End();
    results.ThrowIfSkipped();
  }
  if (done < usable) {
    if (!stop.signal && !(receipts && receipts->failed()))
      log::Info(Str(a.command, ": stdout takes no more results; ", done, " of ", Plural(usable, "text"), " are done"));
    return {done, stop.signal};
  }
  results.Finish();
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  if (const size_t ran = done - restored)
    log::Info(Str(a.command, ": ", Plural(ran, "sentence"), " in ", Fixed(seconds, 2), " s, ",
                  Fixed(double(ran) / seconds, 2), " a second"));
  return {done, stop.signal};
}

// Refuses a record of several sessions, and a job that does not fit into memory alone. Sessions wait for memory.
void CheckMemory(const EmbedArgs& a, roles::ModelEngine& engine, const std::vector<TextLine>& lines) {
  if (a.parallel > 1 && !a.record.empty())
    Fail(Cause::kInput, "--record writes the frames of one session, and --parallel asks for ", a.parallel,
         "; leave out one of both");
  for (const auto& [name, list] : {std::pair("--connect", &a.connect), std::pair("--dealer", &a.dealer)})
    if (const size_t count = net::Address::ParseList(*list).size(); count > 1 && !a.record.empty())
      Fail(Cause::kInput, "--record writes the frames of one session, and ", name, " lists ", count,
           " processes; leave out --record, or name one");
  std::vector<size_t> lengths;
  for (const TextLine& l : lines)
    if (l.error.empty()) lengths.push_back(l.ids.size());
  std::map<size_t, size_t, std::greater<>> jobs;  // the largest batch by length, long texts first
  for (const std::vector<size_t>& batch : roles::BatchesOf(lengths, size_t(a.batch)))
    jobs[lengths[batch[0]]] = std::max(jobs[lengths[batch[0]]], batch.size());
  const auto plan = engine.ForProto(Role::kData);
  const uint32_t entry = engine.indexes().empty() ? 0 : store::SearchEntry(1);
  const uint64_t window = a.audit ? store::KeySource::kWhole : uint64_t(a.keys.window) << 20;
  const uint64_t limit = MemoryLimit(a.memory);
  // Returns the bytes of a job in the smallest variant that is allowed, or in one that fits.
  const auto needs = [&](size_t tokens, size_t texts) {
    uint64_t least = ~uint64_t{0};
    for (uint32_t v = 0; v < engine.variants().size() && least > limit; ++v)
      if (engine.Allowed(a.variant) >> v & 1)
        least = std::min(least, plan.needs({entry, v, uint32_t(tokens), 0, uint32_t(texts)}, window));
    return least;
  };
  size_t most = 0;  // a job with more tokens and as many texts needs more
  for (const auto& [tokens, texts] : jobs) {
    if (texts <= most) continue;
    most = texts;
    const uint64_t bytes = needs(tokens, texts);
    if (bytes <= limit) continue;
    size_t batch = texts;
    while (batch > 1 && needs(tokens, batch) > limit) batch /= 2;
    Fail(Cause::kInput, "running ", Plural(texts, "text"), " of ", tokens, " tokens takes ", Bytes10(int64_t(bytes)),
         " of memory, and ", Bytes10(int64_t(limit)), " are allowed; raise --memory, or ",
         batch < texts && needs(tokens, batch) <= limit ? Str("lower --batch to ", batch)
                                                        : std::string("bring shorter texts"));
  }
}

}  // namespace

int RunEmbed(const EmbedArgs& a) {
  const RoleProcess process = StartRole(a.command, Role::kData, a);
  std::vector<nn::IndexPlan> indexes;
  if (!a.index_plan.empty()) indexes.push_back(roles::LoadIndexPlan(a.index_plan));
  roles::ModelEngine engine(roles::LoadPlan(a.plan), *process.backend, roles::EmitTexts, std::move(indexes));
  if (engine.plan().public_table())
    engine.UseTable(Hinted(Cause::kInput, "--table names the file", [&] {
      return roles::PublicTable(a.table.empty() ? roles::TableFile(a.plan) : std::filesystem::path(a.table),
                                engine.plan());
    }));
  else if (!a.table.empty())
    Fail(Cause::kInput, "--table names a table of embeddings, and the plan's is private; leave out the option");
  engine.MoveParts();
  engine.KeepTraces(uint64_t(a.traces) << 20);
  if (!a.times.empty()) engine.MeasureScopes();
  auto lines = Texts(a, engine);  // before any peer is contacted
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
  std::optional<roles::SealedDocuments> documents;
  if (!a.documents.empty()) Hinted(Cause::kInput, "--documents names it", [&] { documents.emplace(a.documents); });
  std::optional<service::ReceiptFile> receipts;
  if (!a.receipts.empty()) Hinted(Cause::kInput, "--receipts names the file", [&] { receipts.emplace(a.receipts); });
  if (receipts && !receipts->notice().empty()) Warn(a.command, {receipts->notice()});
  // the model owner sees when the connection ends, so it ends before all is written
  const auto [done, signal] = RunSessions(a, process.own, engine, lines, results, receipts ? &*receipts : nullptr,
                                          documents ? &*documents : nullptr);
  if (receipts) receipts->Finish();
  results.End();
  if (signal && done < usable)
    throw Interrupt(signal,
                    Str(a.command, " was stopped by a signal; ", done, " of ", usable,
                        " texts have a result; run it again ", a.resume.empty() ? "with the others" : "to go on"));
  if (done < usable) throw OutputError(EPIPE);
  return Finish(lines);
}

}  // namespace suf::apps
