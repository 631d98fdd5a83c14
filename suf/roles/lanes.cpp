#include "suf/roles/lanes.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "suf/store/draws.hpp"

namespace suf::roles {
namespace {

struct LaneText {
  uint64_t number = 0;
  int priority = 0;
  model::Ids ids;
  Lanes::OnResult done;
  size_t dealer = 0;  // by number
  Hash tag{};         // of its draw, if there are several dealers
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

TextBatch BatchOf(const LaneJob& job) {
  TextBatch batch;
  for (const LaneText& t : job) batch.push_back(t.ids);
  return batch;
}

JobSize SizeOf(const LaneJob& job) {
  return job.empty() ? JobSize{} : JobSize{uint32_t(job[0].ids.size()), uint32_t(job.size())};
}

// A connection with its session, in the thread of one worker.
struct LaneLine {
  SessionPlace place;
  size_t server = 0;  // the process of the model owner that it is connected to, by number
  std::unique_ptr<net::Channel> channel = nullptr;
  std::optional<DataOwner::Session> session = {};
};

void CheckOptions(const Lanes::Options& o, size_t dealers) {
  if (o.parallel < 1 || o.parallel > Lanes::kMost)
    Fail(Cause::kInput, o.parallel, " sessions side by side are not possible; the limits are 1 and ", Lanes::kMost);
  if (size_t(o.parallel) < dealers)
    Fail(Cause::kInput, o.parallel, " sessions are allowed and ", dealers,
         " dealers are listed; allow a session for each dealer");
  if (o.batch < 1 || o.batch > nn::kMostTexts)
    Fail(Cause::kInput, "batches of ", o.batch, " texts are not possible; the limits are 1 and ", nn::kMostTexts);
  SUF_CHECK(o.dial && o.servers);
}

// Returns the place of session `i`: every dealer has sessions, and those of one dealer are spread over the processes.
SessionPlace PlaceOf(size_t i, size_t dealers, uint8_t servers) {
  return {i % dealers, uint8_t(i / dealers % servers), servers};
}

std::optional<store::Draws> DrawsFor(store::Home& home, const proto::Dealers& dealers) {
  if (dealers.size() == 1) return std::nullopt;
  std::vector<Hash> keys;
  for (size_t i = 0; i < dealers.size(); ++i) keys.push_back(dealers[i].key);
  return std::optional<store::Draws>(std::in_place, home, std::move(keys));
}

// The dealers of texts, by number, and the tags of their draws.
struct DrawnTexts {
  std::vector<size_t> dealers;
  std::vector<Hash> tags;
};

View BytesOf(const model::Ids& ids) {
  return {reinterpret_cast<const uint8_t*>(ids.data()), ids.size() * sizeof(ids[0])};
}

// Draws a dealer for each text; the only one if there are no draws.
DrawnTexts DrawFor(std::optional<store::Draws>& draws, const std::vector<model::Ids>& texts) {
  if (!draws) return {std::vector<size_t>(texts.size()), std::vector<Hash>(texts.size())};
  DrawnTexts drawn;
  for (const model::Ids& text : texts) drawn.tags.push_back(draws->TagOf(BytesOf(text)));
  drawn.dealers = draws->Draw(drawn.tags);
  return drawn;
}

std::exception_ptr ClosedError() {
  return std::make_exception_ptr(
      LanesClosed(Cause::kInput, "the lanes were closed before this text began; it has no result"));
}

// The channels of sessions, which a stop hangs up, and the link that the first session measured.
class OpenLines {
 public:
  explicit OpenLines(const Lanes::Options& options) : options_(options) {}
  // Connects a line to its process, or to another one if that cannot be reached, and opens its session.
  void Open(DataOwner& owner, LaneLine& line) {
    std::exception_ptr failed;
    for (const size_t server : OrderFor(line.place)) try {
        line.server = server;
        OpenAt(owner, line);
        return;
      } catch (const Error& e) {
        Drop(line);
        if (e.cause() != Cause::kPeer || options_.servers == 1 || stopped()) throw;
        Avoid(server, e);
        if (!failed) failed = std::current_exception();
      }
    std::rethrow_exception(failed);
  }
  // Lets sessions open at other processes of the model owner for some time, because this one failed.
  void Avoid(size_t server, const Error& why) {
    {
      const std::lock_guard l(m_);
      down_[server] = Clock::now() + kDown;
    }
    const std::lock_guard l(report_);
    if (options_.moves) options_.moves(server, why);
  }
  void Drop(LaneLine& line) noexcept {
    line.session.reset();
    {
      const std::lock_guard l(m_);
      channels_.erase(line.channel.get());
    }
    line.channel.reset();
  }
  // Whether a session was open already, so that another one need not measure the link.
  bool opened() const { return opened_; }
  void Stop() {
    (void)stop_.request_stop();
    const std::lock_guard l(m_);
    for (net::Channel* ch : channels_) ch->HangUp();
  }
  bool stopped() const { return stop_.stop_requested(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr net::Millis kDown{10'000};  // for which a process that failed is tried last

  void OpenAt(DataOwner& owner, LaneLine& line) {
    line.channel = options_.dial(stop_.get_token(), line.server);
    std::optional<proto::Network> known;
    {
      const std::lock_guard l(m_);
      channels_.insert(line.channel.get());
      if (stop_.stop_requested()) line.channel->HangUp();
      known = link_;
    }
    line.session.emplace(owner, *line.channel, uint32_t(options_.parallel), known, line.place);
    {
      const std::lock_guard l(m_);
      if (!link_) link_ = line.session->link();
      down_[line.server] = {};
    }
    opened_ = true;
    const std::lock_guard l(report_);
    if (options_.opened) options_.opened(*line.session);
  }
  // Returns the processes in the order of attempts: that of the place first, and those that were not reached last.
  std::vector<size_t> OrderFor(const SessionPlace& place) const {
    std::vector<size_t> order, last;
    const std::lock_guard l(m_);
    for (size_t i = 0; i < options_.servers; ++i) {
      const size_t server = (place.server + i) % options_.servers;
      (down_[server] <= Clock::now() ? order : last).push_back(server);
    }
    order.insert(order.end(), last.begin(), last.end());
    return order;
  }

  const Lanes::Options& options_;
  std::stop_source stop_;
  mutable std::mutex m_;  // guards the members below
  std::set<net::Channel*> channels_;
  std::optional<proto::Network> link_;
  std::vector<Clock::time_point> down_ = std::vector<Clock::time_point>(options_.servers);  // until when, by process
  std::atomic<bool> opened_{false};
  std::mutex report_;  // held by Options::opened
};

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
        workers.emplace_back([this, i] { Work(PlaceOf(size_t(i), queues.size(), options.servers)); });
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
  // Takes the first text, and others of its length up to a batch.
  LaneJob TakeLocked(TextQueue& queue) {
    auto& waiting = queue.waiting;
    LaneJob job;
    for (auto it = waiting.begin(); it != waiting.end() && job.size() < size_t(options.batch);) {
      const bool fits = job.empty() || it->second.ids.size() == job[0].ids.size();
      if (fits) job.push_back(std::move(it->second));
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
    for (LaneJob job = NextJob(line); !job.empty(); job = NextJob(line)) RunJobs(line, std::move(job));
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
  void RunJobs(LaneLine& line, LaneJob job) {
    int moves = 0;  // of this job, to sessions elsewhere
    while (!job.empty()) {
      LaneJob next;
      std::exception_ptr error;
      try {
        if (!line.session) Open(line);
        (void)line.session->Admit(SizeOf(job), [this] { return Closing(); });
        if (Closed(&job)) return;
        next = TakeNext(queues[line.place.dealer]);
        auto result = line.session->RunOne(job[0].number, BatchOf(job), SizeOf(next));
        Give(std::move(job), std::move(result));
        job = Due(line, std::move(next));
        moves = 0;
        continue;
      } catch (...) {
        error = std::current_exception();
      }
      // a session that stayed may have ended meanwhile; nothing was spent then
      const bool again = line.session && !lines.stopped() && (line.session->stays() || MayMove(line, error, &moves));
      lines.Drop(line);
      const std::lock_guard l(m);
      PutBackNextLocked(std::move(next));
      if (again) continue;
      if (options.close_on_error) CloseLocked();
      first_opens = false;
      changed.notify_all();
      GiveLocked(std::exchange(job, {}), std::move(error));
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
  std::mutex ending;  // held by End
  std::vector<std::thread> workers;
  std::thread deliverer;
};

Lanes::Lanes(ModelEngine& engine, store::Home& store, proto::Dealers dealers, Options options) {
  CheckOptions(options, dealers.size());
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

uint64_t Lanes::SubmitAll(std::vector<model::Ids> texts, int priority, std::function<void(size_t, LaneResult)> done) {
  for (const model::Ids& text : texts) s_->owner.Check(text);
  const DrawnTexts drawn = DrawFor(s_->draws, texts);
  const std::lock_guard l(s_->m);
  if (s_->closing) throw LanesClosed(Cause::kInput, "the lanes are closed and take no text any more; make new ones");
  const uint64_t first = s_->submitted;
  for (size_t i = 0; i < texts.size(); ++i)
    s_->PutBackLocked({s_->submitted++, priority, std::move(texts[i]),
                       [i, done](LaneResult r) { done(i, std::move(r)); }, drawn.dealers[i], drawn.tags[i]});
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

namespace {

// The batches of one session, by number.
struct LaneShare {
  SessionPlace place;
  std::vector<size_t> batches = {};
};

// Spreads batches over the sessions of their dealers in turn. Returns those sessions that have batches.
std::vector<LaneShare> SharesOf(const std::vector<std::vector<size_t>>& batches, const std::vector<size_t>& dealer_of,
                                size_t dealers, const Lanes::Options& options) {
  std::vector<LaneShare> shares;
  for (int i = 0; i < options.parallel; ++i) shares.push_back({PlaceOf(size_t(i), dealers, options.servers)});
  std::vector<size_t> next(dealers);
  for (size_t d = 0; d < dealers; ++d) next[d] = d;
  for (size_t i = 0; i < batches.size(); ++i) {
    const size_t dealer = dealer_of[batches[i][0]];
    shares[next[dealer]].batches.push_back(i);
    next[dealer] += dealers;
    if (next[dealer] >= shares.size()) next[dealer] = dealer;
  }
  std::erase_if(shares, [](const LaneShare& s) { return s.batches.empty(); });
  return shares;
}

}  // namespace

size_t RunInLanes(ModelEngine& engine, store::Home& store, proto::Dealers dealers, Lanes::Options options,
                  std::vector<model::Ids> texts, const std::function<void(size_t, Embedding)>& done) {
  CheckOptions(options, dealers.size());
  std::atomic<bool> failed{false};
  options.client.stop = [&, stop = options.client.stop] { return failed || (stop && stop()); };
  std::optional<store::Draws> draws = DrawsFor(store, dealers);
  const size_t count_of_dealers = dealers.size();
  DataOwner owner(engine, store, std::move(dealers), options.client);
  for (const model::Ids& text : texts) owner.Check(text);
  const DrawnTexts drawn = DrawFor(draws, texts);
  std::vector<size_t> kinds = LengthsOf(texts);  // of texts that can be in one batch
  for (size_t i = 0; i < kinds.size(); ++i) kinds[i] = kinds[i] * count_of_dealers + drawn.dealers[i];
  const std::vector<std::vector<size_t>> batches = BatchesOf(kinds, size_t(options.batch));
  std::vector<TextBatch> moved = MoveToBatches(std::move(texts), batches);
  const Client::AuditPlaces places = owner.PlaceAudits(batches.size());
  OpenLines lines(options);
  std::mutex m;  // guards the members below
  std::exception_ptr error;
  size_t count = 0;
  std::promise<void> first;  // set when the first session is open or failed
  const std::shared_future<void> first_over = first.get_future().share();
  const std::vector<LaneShare> shares = SharesOf(batches, drawn.dealers, count_of_dealers, options);
  const auto run = [&](size_t lane) {
    const LaneShare& share = shares[lane];
    LaneLine line{.place = share.place};
    std::vector<TextBatch> mine;
    Client::AuditPlaces audits;
    for (const size_t i : share.batches) {
      mine.push_back(std::move(moved[i]));
      audits.push_back(places[i]);
    }
    const size_t all = mine.size();
    const auto note = [&] {
      const std::lock_guard l(m);
      if (!error) error = std::current_exception();
    };
    bool waited_for = lane == 0;  // the other lanes wait for the first one
    try {
      if (lane) first_over.wait();
      if (failed) return;
      lines.Open(owner, line);
      if (std::exchange(waited_for, false)) first.set_value();
      const size_t ran = line.session->RunBatches(
          std::move(mine),
          [&](size_t i, std::vector<Embedding> all_of) {
            const std::lock_guard l(m);
            const std::vector<size_t>& of = batches[share.batches[i]];
            count += of.size();
            for (size_t k = 0; k < of.size(); ++k) {
              if (draws) draws->Settle(drawn.tags[of[k]], drawn.dealers[of[k]]);
              done(of[k], std::move(all_of[k]));
            }
          },
          std::move(audits));
      try {
        if (ran == all) line.session->End();
      } catch (...) {  // of a run that failed behind the last frame; the other sessions go on
        note();
      }
    } catch (...) {
      note();
      failed = true;
      if (waited_for) first.set_value();
      if (line.session && line.session->audit_failed()) lines.Stop();
    }
    lines.Drop(line);
  };
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < shares.size(); ++i) threads.emplace_back([&, i] { run(i); });
  }
  if (error) std::rethrow_exception(error);
  return count;
}

}  // namespace suf::roles
