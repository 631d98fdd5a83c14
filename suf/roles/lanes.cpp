#include "suf/roles/lanes.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "suf/base/random_below.hpp"
#include "suf/roles/internal/open_lines.hpp"

namespace suf::roles {
namespace {

struct LaneText {
  uint64_t number = 0;
  int priority = 0;
  model::Ids ids;
  Lanes::OnResult done;
  size_t dealer = 0;  // by number
  Hash tag{};         // of its draw, if there are several dealers
  size_t batch = 1;   // the most texts of its job
};

// The texts of one dealer that wait, by priority, the highest first, then by number.
struct TextQueue {
  std::map<std::pair<int64_t, uint64_t>, LaneText> waiting;
  size_t free_workers = 0, free_sessions = 0;  // that wait for a text; the latter are open
};

struct LaneEnd {
  LaneText text;
  LaneResult result;
};

using LaneJob = std::vector<LaneText>;  // texts of one length; empty: none

// The attempts of one worker since its last success.
struct LaneAttempts {
  std::optional<std::chrono::steady_clock::time_point> since;
  net::Millis pause = Lanes::kFirstPause;
};

TextBatch BatchOf(const LaneJob& job) {
  TextBatch batch;
  for (const LaneText& t : job) batch.push_back(t.ids);
  return batch;
}

JobSize SizeOf(const DataOwner::Session& session, const LaneJob& job) {
  return job.empty() ? JobSize{} : session.SizeOf(uint32_t(job[0].ids.size()), uint32_t(job.size()));
}

std::exception_ptr ClosedError() {
  return std::make_exception_ptr(
      LanesClosed(Cause::kInput, "this text had not begun when everything was closed; it has no result"));
}

}  // namespace

struct Lanes::State {
  State(ModelEngine& engine, store::Home& store, proto::Dealers dealers, Options o)
      : options(std::move(o)),
        draws(DrawsFor(store, dealers)),
        queues(dealers.size()),
        owner(engine, store, std::move(dealers), options.client),
        lines(options) {
    try {
      deliverer = std::thread([this] { Deliver(); });
      for (int i = 0; i < options.parallel; ++i)
        workers.emplace_back([this, i] { Work(SessionPlaceOf(size_t(i), queues.size(), options.servers)); });
    } catch (...) {  // the system has no more threads
      End();
      throw;
    }
  }
  ~State() { End(); }

  // Waits until all threads have ended.
  void End() {
    const std::lock_guard one(ending);
    {
      const std::lock_guard l(m);
      CloseLocked();
    }
    for (std::thread& t : workers)
      if (t.joinable()) t.join();
    {
      const std::lock_guard l(m);
      delivered_all = true;
      given.notify_all();
    }
    if (deliverer.joinable()) deliverer.join();
  }

  // --- the queues ---

  // Lets workers end, and gives texts that have not begun an error.
  void CloseLocked() {
    if (std::exchange(closing, true)) return;
    for (TextQueue& q : queues)
      for (auto& [place, text] : std::exchange(q.waiting, {})) GiveLocked(std::move(text), ClosedError());
    changed.notify_all();
  }
  // Takes the first text, and others of its length up to the smallest batch of theirs.
  LaneJob TakeLocked(TextQueue& queue) {
    auto& waiting = queue.waiting;
    LaneJob job;
    auto most = size_t(options.batch);
    for (auto it = waiting.begin(); it != waiting.end() && job.size() < most;) {
      LaneText& text = it->second;
      const bool fits = job.empty() || (text.ids.size() == job[0].ids.size() && job.size() < text.batch);
      if (fits) most = std::min(most, text.batch);
      if (fits) job.push_back(std::move(text));
      it = fits ? waiting.erase(it) : std::next(it);
    }
    return job;
  }
  void PutBackLocked(LaneText text) {
    if (closing) return GiveLocked(std::move(text), ClosedError());
    const std::pair place(-int64_t(text.priority), text.number);
    auto& waiting = queues[text.dealer].waiting;
    waiting.emplace(place, std::move(text));
    changed.notify_all();
  }
  // Whether a worker may take a text. Free open sessions go before new ones, and the first session opens alone.
  bool MayTakeLocked(const TextQueue& queue, bool open) const {
    return !queue.waiting.empty() && (open || (!first_opens && queue.waiting.size() > queue.free_sessions));
  }
  // Closes the lanes if ClientOptions::stop says so, or fails.
  void Poll() {
    std::exception_ptr error;
    try {
      if (!options.client.stop || !options.client.stop()) return;
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard l(m);
    if (error && !done_failed) done_failed = error;
    CloseLocked();
  }

  // --- results ---

  void GiveLocked(LaneText text, LaneResult result) {
    results.push_back({std::move(text), std::move(result)});
    given.notify_all();
  }
  // The caller keeps no reference to an error, so the thread that delivers it also destroys it.
  void GiveLocked(LaneJob job, std::exception_ptr error) {
    for (LaneText& text : job) GiveLocked(std::move(text), &text == &job.back() ? std::move(error) : error);
  }
  // Gives each text of a job its result, or all of them the error.
  void Give(LaneJob job, std::variant<std::vector<Embedding>, std::exception_ptr> result) {
    const std::lock_guard l(m);
    for (size_t i = 0; i < job.size(); ++i)
      if (auto* all = std::get_if<0>(&result))
        GiveLocked(std::move(job[i]), std::move(all->at(i)));
      else if (auto& error = std::get<1>(result); i + 1 < job.size())
        GiveLocked(std::move(job[i]), LateError{error});
      else
        GiveLocked(std::move(job[i]), LateError{std::move(error)});
  }
  // Calls OnResult for each result, in the order of their ends.
  void Deliver() {
    std::unique_lock lock(m);
    for (;;) {
      given.wait(lock, [&] { return !results.empty() || delivered_all; });
      if (results.empty()) return;
      auto [text, result] = std::move(results.front());
      results.pop_front();
      lock.unlock();
      Settle(text, std::holds_alternative<Embedding>(result));
      std::exception_ptr error;
      try {
        text.done(std::move(result));
      } catch (...) {
        error = std::current_exception();
      }
      text.done = nullptr;  // destroys its captures outside the lock
      lock.lock();
      if (error && !done_failed) done_failed = error;
      ++ended;
      settled.notify_all();
    }
  }
  // Ends the draw of a text that has its result. Another text keeps its dealer for its next run.
  void Settle(const LaneText& text, bool has_result) noexcept {
    if (!draws) return;
    if (has_result)
      draws->Settle(text.tag, text.dealer);
    else
      draws->Keep(text.tag, text.dealer);
  }
  void ThrowIfDoneFailed() {
    const std::lock_guard l(m);
    if (done_failed) std::rethrow_exception(std::exchange(done_failed, nullptr));
  }

  // --- the thread of one session ---

  void Work(const SessionPlace& place) {
    LaneLine line{.place = place};
    LaneAttempts attempts;
    for (LaneJob job = NextJob(line); !job.empty(); job = NextJob(line)) RunJobs(line, std::move(job), attempts);
    if (line.session) try {
        line.session->GiveUp();
      } catch (const std::exception&) {  // all texts have their results
      }
    lines.Drop(line);
  }

  // Waits for a job; none when the lanes close. A session without one notifies the model owner that it stays.
  LaneJob NextJob(LaneLine& line) {
    Poll();
    std::unique_lock l(m);
    const bool open = line.session.has_value();
    TextQueue& queue = queues[line.place.dealer];
    const auto ready = [&] { return closing || MayTakeLocked(queue, open); };
    queue.free_sessions += open;
    ++queue.free_workers;
    if (open && !line.session->stays() && !changed.wait_for(l, options.pause, ready)) {
      l.unlock();
      try {
        line.session->Stay();
      } catch (const std::exception&) {  // the model owner ended the session; the next text opens it again
      }
      l.lock();
    }
    changed.wait(l, ready);
    queue.free_sessions -= open;
    --queue.free_workers;
    if (closing) return {};
    if (!open && !lines.opened()) first_opens = true;
    return TakeLocked(queue);
  }

  // Runs a job, and those that are announced meanwhile.
  void RunJobs(LaneLine& line, LaneJob job, LaneAttempts& attempts) {
    int moves = 0;  // of this job, to sessions elsewhere
    while (!job.empty()) {
      LaneJob next;
      std::exception_ptr error;
      try {
        if (!line.session) Open(line);
        (void)line.session->Admit(SizeOf(*line.session, job), [this] { return Closing(); });
        if (Closed(&job)) return;
        next = TakeNext(queues[line.place.dealer]);
        auto result = line.session->RunOne(job[0].number, BatchOf(job), SizeOf(*line.session, next));
        Give(std::move(job), std::move(result));
        job = Due(line, std::move(next));
        moves = 0;
        attempts = {};
        continue;
      } catch (...) {
        error = std::current_exception();
      }
      // a session that stayed may have ended meanwhile; nothing was spent then
      const bool again = line.session && !lines.stopped() && (line.session->stays() || MayMove(line, error, &moves));
      lines.Drop(line);
      std::unique_lock l(m);
      PutBackNextLocked(std::move(next));
      if (again) continue;
      first_opens = false;
      changed.notify_all();
      l.unlock();
      if (const auto pause = PauseFor(error, attempts)) {
        l.lock();
        if (!changed.wait_for(l, *pause, [this] { return closing; })) continue;
        error = ClosedError();
      } else {
        l.lock();
        if (options.close_on_error) CloseLocked();
      }
      GiveLocked(std::exchange(job, {}), std::move(error));
    }
  }

  // Returns the pause before a job is tried again after this error; nothing if the error is final. Once the time is
  // over, later jobs of this worker have no pauses either, until one succeeds.
  std::optional<net::Millis> PauseFor(const std::exception_ptr& error, LaneAttempts& attempts) {
    if (!options.retry.count() || lines.stopped()) return std::nullopt;
    try {
      std::rethrow_exception(error);
    } catch (const Error& e) {
      if (e.cause() != Cause::kPeer) return std::nullopt;
      const auto now = std::chrono::steady_clock::now();
      if (!attempts.since) attempts.since = now;
      // sessions that broke at the same time do not return at the same time
      const net::Millis pause =
          attempts.pause / 2 + net::Millis(int64_t(RandomBelow(uint64_t(attempts.pause.count()))));
      if (now + pause > *attempts.since + options.retry) return std::nullopt;
      attempts.pause = std::min(2 * attempts.pause, kLongestPause);
      const std::lock_guard one(reporting);
      if (options.retries) options.retries(e, pause);
      return pause;
    } catch (...) {
      return std::nullopt;
    }
  }

  // Returns whether a job goes on in a session with another process of the model owner. It does if this one failed
  // before anything was spent.
  bool MayMove(const LaneLine& line, const std::exception_ptr& error, int* moves) {
    try {
      std::rethrow_exception(error);
    } catch (const Error& e) {
      if (e.cause() != Cause::kPeer || !line.session->unspent() || ++*moves >= options.servers) return false;
      lines.Avoid(line.server, e);
      return true;
    } catch (...) {
      return false;
    }
  }
  void Open(LaneLine& line) {
    lines.Open(owner, line);
    const std::lock_guard l(m);
    first_opens = false;
    changed.notify_all();
  }
  bool Closing() {
    Poll();
    const std::lock_guard l(m);
    return closing;
  }
  // Returns whether the lanes are closed; the job then has no result.
  bool Closed(LaneJob* job) {
    if (!Closing()) return false;
    const std::lock_guard l(m);
    GiveLocked(std::move(*job), ClosedError());
    return true;
  }

  // Takes the job that is announced during the next run; none if another worker is free for it.
  LaneJob TakeNext(TextQueue& queue) {
    const std::lock_guard l(m);
    if (options.client.one_by_one || closing || queue.waiting.size() <= queue.free_workers) return {};
    LaneJob next = TakeLocked(queue);
    if (next.size() == 1) announced.insert(next[0].number);  // Cancel takes it back until it begins
    return next;
  }
  // Returns whether an announced job is still wanted. Cancel takes it back no more.
  bool WantedLocked(const LaneJob& job) { return job.size() > 1 || announced.erase(job[0].number) > 0; }
  void PutBackNextLocked(LaneJob next) {
    if (next.empty()) return;
    if (!WantedLocked(next)) return Settle(next[0], false);
    for (LaneText& text : next) PutBackLocked(std::move(text));
  }
  // Returns the announced job, which is due now. If it is not wanted any more, the session ends without it.
  LaneJob Due(LaneLine& line, LaneJob next) {
    Poll();
    if (next.empty()) return next;
    bool wanted = false;
    {
      const std::lock_guard l(m);
      wanted = WantedLocked(next);
      if (!wanted) Settle(next[0], false);
      if (wanted && closing) GiveLocked(std::move(next), ClosedError());
      wanted &= !closing;
    }
    if (wanted) return next;
    try {
      line.session->GiveUp();
    } catch (const std::exception&) {  // it ends in any case
    }
    lines.Drop(line);
    return {};
  }

  const Options options;
  std::optional<store::Draws> draws;  // if there are several dealers
  std::vector<TextQueue> queues;      // by dealer; guarded by m
  DataOwner owner;
  OpenLines lines;
  std::mutex m;  // guards the members below
  std::condition_variable changed, given, settled;
  std::set<uint64_t> announced;                      // single texts of TakeNext, until they begin
  uint64_t submitted = 0, cancelled = 0, ended = 0;  // texts
  bool first_opens = false, closing = false, delivered_all = false;
  std::deque<LaneEnd> results;
  std::exception_ptr done_failed;
  std::mutex ending, reporting;  // held by End; by Options::retries
  std::vector<std::thread> workers;
  std::thread deliverer;
};

Lanes::Lanes(ModelEngine& engine, store::Home& store, proto::Dealers dealers, Options options) {
  CheckLaneOptions(options, dealers.size());
  if (options.client.audits)
    Fail(Cause::kInput, "texts that come one by one have no audits, whose places would not be random");
  s_ = std::make_unique<State>(engine, store, std::move(dealers), std::move(options));
}
Lanes::~Lanes() = default;

uint64_t Lanes::Submit(model::Ids text, int priority, OnResult done) {
  std::vector<model::Ids> one;
  one.push_back(std::move(text));
  return SubmitAll(std::move(one), priority, [done = std::move(done)](size_t, LaneResult r) { done(std::move(r)); });
}

uint64_t Lanes::SubmitAll(std::vector<model::Ids> texts, int priority, std::function<void(size_t, LaneResult)> done,
                          int batch) {
  if (batch < 1 || batch > nn::kMostTexts)
    Fail(Cause::kInput, "batches of ", batch, " texts are not possible; the limits are 1 and ", nn::kMostTexts);
  for (const model::Ids& text : texts) s_->owner.Check(text);
  const DrawnTexts drawn = DrawDealers(s_->draws, texts);
  const std::lock_guard l(s_->m);
  if (s_->closing) throw LanesClosed(Cause::kInput, "the lanes are closed and take no text any more; make new ones");
  const uint64_t first = s_->submitted;
  for (size_t i = 0; i < texts.size(); ++i)
    s_->PutBackLocked({s_->submitted++, priority, std::move(texts[i]),
                       [i, done](LaneResult r) { done(i, std::move(r)); }, drawn.dealers[i], drawn.tags[i],
                       size_t(batch)});
  return first;
}

bool Lanes::Cancel(uint64_t text) {
  LaneText gone;  // destroyed outside the lock
  const std::lock_guard l(s_->m);
  bool waits = false;
  for (auto& [waiting, workers, sessions] : s_->queues) {
    const auto it = std::find_if(waiting.begin(), waiting.end(), [&](auto& w) { return w.first.second == text; });
    if (it == waiting.end()) continue;
    waits = true;
    gone = std::move(it->second);
    waiting.erase(it);
    s_->Settle(gone, false);
  }
  if (!waits && !s_->announced.erase(text)) return false;
  ++s_->cancelled;
  s_->settled.notify_all();
  return true;
}

void Lanes::Wait() {
  {
    std::unique_lock l(s_->m);
    s_->settled.wait(l, [&] { return s_->ended + s_->cancelled == s_->submitted; });
  }
  s_->ThrowIfDoneFailed();
}

void Lanes::Close(std::stop_token stop) {
  {
    const std::lock_guard l(s_->m);
    s_->CloseLocked();
  }
  const std::stop_callback hang_up(stop, [this] { s_->lines.Stop(); });
  s_->End();
  s_->ThrowIfDoneFailed();
}

}  // namespace suf::roles
