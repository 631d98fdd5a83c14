#include "suf/roles/client.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "suf/base/random_below.hpp"
#include "suf/roles/internal/parts.hpp"
#include "suf/roles/internal/shared_inputs.hpp"

namespace suf::roles {

namespace {

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

// Bytes that a channel has counted so far, by phase and direction.
struct ByteCounts {
  uint64_t p0 = 0, p1 = 0, ahead = 0, setup = 0;
  explicit ByteCounts(const net::Channel& ch) {
    using net::Phase;
    p0 = ch.traffic(Phase::kOnline).bytes_received;
    p1 = ch.traffic(Phase::kOnline).bytes_sent;
    ahead = ch.traffic(Phase::kOffline).bytes_sent;
    setup = ch.traffic(Phase::kSetup).bytes_received;
  }
};

// The bundles of jobs and audits in their order.
class BundleQueue {
 public:
  BundleQueue(const proto::DataSession& session, const std::vector<JobRequest>& requests, Client::AuditPlaces audits,
              bool one_by_one)
      : places(std::move(audits)), one_by_one_(one_by_one) {
    for (size_t i = 0; i < requests.size(); ++i)
      jobs_.insert(jobs_.end(), size_t(1 + places[i][0] + places[i][1]),
                   session.JobOf(requests[i].count, requests[i].texts, requests[i].entry));
  }
  // Takes the next bundle. Returns the job of the following one, which is fetched meanwhile; 0 tokens: none is.
  store::Job Take() { return ++taken_ < jobs_.size() && !one_by_one_ ? jobs_[taken_] : store::Job{}; }
  const Client::AuditPlaces places;

 private:
  bool one_by_one_;
  std::vector<store::Job> jobs_;
  size_t taken_ = 0;
};

}  // namespace

// P1's masked weights by weights id and hash. A peer with P0's key names both before its first MAC. The session's MACs
// cover the hash, and the bytes in memory have it.
struct Client::SetupCache : SharedInputs<std::pair<Hash, Hash>> {
  SetupCache() : SharedInputs(1) {}
};

// The masked rows of an index, and its masked table or null, for the list of a session.
struct HeldIndex {
  std::shared_ptr<const run::Inputs> rows, table;
};

// P1's W - B of one index. Segments are known by the SHA-256 of theirs, which the session's MACs cover.
struct Client::IndexCache {
  explicit IndexCache(const EngineIndex& index)
      : rows(SearchShape(index.whole, index.index.search), "Wh.", BlockWords::kMade),
        table(TableShape(index.index), "Wh.", BlockWords::kMade) {}

  static Hash KeyOf(const proto::SessionIndex& index) { return proto::SetupDigest({}, {index}); }
  // Returns the inputs for the list of a session; nothing if they are not here.
  std::optional<HeldIndex> Find(const proto::SessionIndex& index, bool tables) {
    const HeldIndex held{searches.Find(KeyOf(index)), tables ? fetches.Find(KeyOf(index)) : nullptr};
    if (!held.rows || (tables && !held.table)) return std::nullopt;
    return held;
  }
  // Makes them from the parts of a session that has just begun.
  HeldIndex Make(proto::DataSession& session, const proto::SessionIndex& index, bool tables) {
    std::vector<Bytes> of[2];
    for (size_t i = 0; i < session.parts().size(); ++i)
      if (const proto::SetupPart& part = session.parts()[i]; part.index == index.offer.number)
        of[part.table].push_back(session.TakePart(i));
    return {Make(rows, searches, index, of[0], false), tables ? Make(table, fetches, index, of[1], true) : nullptr};
  }
  // Returns the inputs of a job with a bundle of this list.
  run::Inputs InputsFor(const store::Job& job, const proto::SessionIndex& index, const Hash& list,
                        const HeldIndex& held) {
    const Hash key = HashOf({KeyOf(index), list});
    return store::IsFetch(job) ? InputsOfList(table, *held.table, index, list, fetches, key)
                               : InputsOfList(rows, *held.rows, index, list, searches, key);
  }

 private:
  template <class T>
  std::shared_ptr<const run::Inputs> Make(RowBlocks<T>& blocks, SharedInputs<Hash>& made,
                                          const proto::SessionIndex& index, std::vector<Bytes>& parts, bool of_table) {
    store::SegmentList named;
    for (const proto::SegmentOffer& s : index.offer.segments)
      named.push_back({of_table ? s.table : s.rows, s.segment.rows});
    return made.Get(KeyOf(index), [&](run::Inputs& inputs) {
      std::vector<std::shared_ptr<const Bytes>> held;
      for (size_t i = 0; i < parts.size(); ++i) held.push_back(Hold(named[i].id, std::move(parts[i])));
      const auto read = [&shape = blocks.shape(), held = std::move(held)](size_t s, int64_t first, int64_t count) {
        return ReadMasked<T>(shape, *held[s], first, count);
      };
      blocks.Fill(named, read, inputs);
    });
  }
  // Returns W - B of a part. The lists that have it share one copy.
  std::shared_ptr<const Bytes> Hold(const Hash& hash, Bytes part) {
    const std::lock_guard l(m);
    std::erase_if(parts, [](const auto& p) { return p.second.expired(); });
    std::weak_ptr<const Bytes>& known = parts[hash];
    std::shared_ptr<const Bytes> held = known.lock();
    if (!held) known = held = std::make_shared<const Bytes>(std::move(part));
    return held;
  }

  static constexpr size_t kLists = 3;  // whose inputs are kept
  RowBlocks<RowWord> rows;
  RowBlocks<TableWord> table;
  SharedInputs<Hash> searches{kLists}, fetches{kLists};
  std::mutex m;                                      // guards the map below
  std::map<Hash, std::weak_ptr<const Bytes>> parts;  // by SHA-256
};

Client::Client(Engine& engine, store::Home& home, proto::Dealers dealers, Options options)
    : engine_(engine),
      home_(home),
      dealers_(std::move(dealers)),
      options_(std::move(options)),
      plan_(engine.ForProto(Role::kData)),
      memory_({.at_once = int(store::kMostLanes), .memory = options_.memory}),
      setups_(std::make_shared<SetupCache>()) {
  if (options_.keys.ahead > 1) home.CheckCanKeepBundles();
  for (uint32_t i = 1; i <= plan_.indexes.size(); ++i)
    indexes_.emplace(plan_.indexes[i - 1], std::make_shared<IndexCache>(*engine.IndexAt(i)));
  options_.keys.whole = options_.audits > 0;
  if (options_.audits && options_.one_by_one)
    Fail(Cause::kInput, "audits and jobs one by one do not go together; leave out one of both");
}

Client::AuditPlaces Client::PlaceAudits(size_t jobs) const {
  const auto audits = size_t(options_.audits);
  std::vector<int> count(jobs, jobs ? int(audits / jobs) : 0);
  for (size_t i = 0, rest = jobs ? audits % jobs : 0; i < jobs; ++i)
    if (RandomBelow(jobs - i) < rest) {
      ++count[i];
      --rest;
    }
  AuditPlaces places;
  for (int c : count) {
    const int before = int(RandomBelow(uint64_t(c) + 1));
    places.push_back({before, c - before});
  }
  return places;
}

struct Client::Session::State {
  State(Client& c, net::Channel& server, uint32_t lanes, const std::optional<proto::Network>& link,
        const SessionPlace& place)
      : client(c),
        ch(server),
        session(ch, client.plan_, LaneFor(place), client.dealers_[place.dealer], Keys(), client.options_.variants,
                Info(lanes, link), &client.memory_) {
    setup = ByteCounts(ch).setup;
    if (!base) {
      const Bytes w_hat = session.Setup();
      base = client.setups_->Get({session.weights(), session.setup_hash()},
                                 [&](run::Inputs& made) { ReadSetup(client.engine_, w_hat, made); });
    }
    if (!client.indexes_.empty()) client.engine_.Adopt(session.served());
    for (const proto::SessionIndex& index : session.indexes())
      if (!held.contains(index.offer.number))
        held[index.offer.number] = CacheOf(index).Make(session, index, client.options_.keys.tables);
    std::call_once(client.begins_, [&] { client.begun_ = Clock::now(); });
    begun = client.begun_;
  }

  std::shared_ptr<store::Lane> LaneFor(const SessionPlace& place) const {
    const proto::DealerContact& dealer = client.dealers_[place.dealer];
    return client.home_.OpenAny({dealer.key, dealer.listed, place.server, place.servers});
  }

  proto::PairInfo Info(uint32_t lanes, const std::optional<proto::Network>& link) const {
    proto::PairInfo info = proto::ReportOf(ch, client.options_.keys.ahead > 1, *client.dealer_rate_);
    info.lanes = lanes;
    info.link = link;
    return info;
  }

  // Returns the policy of the client. The session reads no W_hat that another one left in memory.
  proto::KeyPolicy Keys() {
    proto::KeyPolicy keys = client.options_.keys;
    keys.has_setup = [this](const Hash& weights, const Hash& hash) {
      base = client.setups_->Find({weights, hash});
      return base != nullptr;
    };
    keys.has_index = [this](const proto::SessionIndex& index) {
      auto found = CacheOf(index).Find(index, client.options_.keys.tables);
      if (found) held[index.offer.number] = std::move(*found);
      return found.has_value();
    };
    keys.delivered = [rate = client.dealer_rate_](uint64_t bits) { *rate = bits; };
    if (const auto take = client.options_.keys.receipts)
      keys.receipts = [this, take](const proto::Receipt& r) {
        receipt = std::make_shared<const proto::Receipt>(r);
        take(r);
      };
    if (client.options_.waits)
      keys.waits = [this](const proto::Turns::Wait& w) { client.options_.waits(w.place, w.ms); };
    return keys;
  }

  IndexCache& CacheOf(const proto::SessionIndex& index) const { return *client.indexes_.at(index.offer.plan); }
  const proto::SessionIndex& IndexOf(uint32_t number) const {
    const auto& all = session.indexes();
    const auto at = std::find_if(all.begin(), all.end(), [&](auto& i) { return i.offer.number == number; });
    SUF_CHECK(at != all.end());
    return *at;
  }
  // Adds the inputs of a job's index, for a bundle of this list.
  void AddIndex(const store::BundleHeader& h, run::Inputs& inputs) {
    const uint32_t number = store::IndexOf(h.job);
    if (!number) return;
    const proto::SessionIndex& index = IndexOf(number);
    inputs.Add(CacheOf(index).InputsFor(h.job, index, h.list, held.at(number)));
  }

  // Returns the work of a job. Throws if the client may not take part in it.
  std::shared_ptr<const CompiledJob> WorkOf(const store::Job& job) const {
    auto work = client.engine_.Compile(job);
    if (!client.options_.semi_honest) RefuseSteering(*work);
    return work;
  }

  bool Stop() const { return client.options_.stop && client.options_.stop(); }

  void Enter(JobState s) {
    state.reset();
    if (client.options_.entered) state = client.options_.entered(s);
  }

  // Waits until a bundle may be used. Returns false if no further result is wanted.
  bool Admit(const store::Job& job) {
    return !Stop() && session.Admit(job, [&] { return Stop(); });
  }

  // Does the same for the bundle of a job that will run.
  bool AdmitToRun(const store::Job& job, const std::function<bool()>& leave) {
    Enter(JobState::kWaiting);
    const bool admitted = session.Admit(job, leave);
    if (!admitted) state.reset();
    return admitted;
  }

  // Returns false if no further result is wanted.
  bool Audit(int count, const store::Job& job, BundleQueue& due) {
    for (int i = 0; i < count; ++i) {
      if (!Admit(job)) return false;
      session.Audit(job, due.Take());
      if (client.options_.audited) client.options_.audited();
    }
    return true;
  }

  // Runs one job. Nothing here depends on the result, and the time until the next frame is the same for every result.
  JobResult RunJob(size_t index, JobRequest request, const store::Job& job, std::shared_ptr<const CompiledJob> work,
                   const store::Job& next) {
    auto progress = [&](double done, const std::string& what) {
      if (client.options_.progress) client.options_.progress(index, done, what);
    };
    JobResult e{.work = std::move(work), .count = request.count, .texts = request.texts, .variant = job.variant};
    run::Inputs inputs = *base;  // of this job; arrays of the request are wiped at its end
    for (NamedArray& in : request.inputs) inputs.Set(in.name, std::move(in.data));
    const ByteCounts before(ch);
    double wall = 0;
    const auto start = Clock::now();
    Enter(JobState::kWaiting);
    progress(0, "keys from the dealer");
    e.deal_ms = session.Infer(
        job,
        [&](proto::Inference& inference) {
          Enter(JobState::kRunning);
          e.fetch_ms = inference.fetch_ms();
          e.serial = inference.header().serial;
          AddIndex(inference.header(), inputs);
          Outcome out = RunInference(
              client.engine_, inference, inputs,
              [&](int step, int steps, const std::string& scope) { progress(double(step) / steps, scope); });
          e.words = std::move(out.words);
          e.times = std::move(out.times);
          wall = Since(start) * 1e3;
          e.keys_ms = inference.keys().waited() * 1e3;
        },
        next);
    state.reset();
    const ByteCounts after(ch);
    e.bytes = {after.p0 - before.p0, after.p1 - before.p1, after.ahead - before.ahead, std::exchange(setup, 0)};
    e.ahead_ms = std::max(0.0, wall - e.fetch_ms - e.times.total * 1e3);
    e.at_s = Since(begun);
    e.receipt = std::exchange(receipt, nullptr);
    return e;
  }

  void ThrowLate() {
    if (late) std::rethrow_exception(std::exchange(late, nullptr));
  }

  Client& client;
  net::Channel& ch;
  std::shared_ptr<const run::Inputs> base;  // masked weights
  std::map<uint32_t, HeldIndex> held;       // by number of the index
  proto::DataSession session;
  std::exception_ptr late;                        // the first error of a Run's job behind the server's last frame
  std::shared_ptr<void> state;                    // of the job that waits or runs (ClientOptions::entered)
  std::shared_ptr<const proto::Receipt> receipt;  // of the job that runs
  uint64_t setup = 0;                             // bytes, reported with the first job
  Clock::time_point begun;                        // of Run, or of the client's first session
};

Client::Session::Session(Client& client, net::Channel& server, uint32_t lanes,
                         const std::optional<proto::Network>& link, const SessionPlace& place)
    : s_(new State(client, server, lanes, link, place)) {}
Client::Session::~Session() = default;
const std::vector<std::string>& Client::Session::notices() const { return s_->session.notices(); }

uint32_t Client::Session::brought() const { return s_->session.brought(); }

const std::optional<proto::Network>& Client::Session::link() const { return s_->session.link(); }

const Hash& Client::Session::weights() const { return s_->session.weights(); }

Hash Client::Session::ListOfIndex(uint32_t number) const { return s_->IndexOf(number).lists->back(); }

size_t Client::Session::Run(std::vector<JobRequest> jobs, const std::function<void(size_t, JobResult)>& done,
                            std::optional<AuditPlaces> places) {
  if (jobs.empty()) return 0;
  State& s = *s_;
  SUF_CHECK(!places || places->size() == jobs.size());
  BundleQueue due(s.session, jobs, places ? std::move(*places) : s.client.PlaceAudits(jobs.size()),
                  s.client.options_.one_by_one);
  s.begun = Clock::now();
  for (size_t i = 0; i < jobs.size(); ++i) {
    const store::Job job = s.session.JobOf(jobs[i].count, jobs[i].texts, jobs[i].entry);
    auto work = s.WorkOf(job);  // a faulty trace ends the call before an audit
    if (!s.Audit(due.places[i][0], job, due) || s.Stop() || !s.AdmitToRun(job, [&] { return s.Stop(); })) {
      GiveUp();
      return i;
    }
    JobResult ran = s.RunJob(i, std::move(jobs[i]), job, std::move(work), due.Take());
    const std::exception_ptr late = s.session.TakeError();
    if (late && !s.late) s.late = late;
    const bool goes_on = s.Audit(due.places[i][1], job, due);
    if (!late) done(i, std::move(ran));
    if (!goes_on) {
      GiveUp();
      return i + 1;
    }
  }
  return jobs.size();
}

bool Client::Session::Admit(const JobSize& size, const std::function<bool()>& leave) {
  return s_->AdmitToRun(s_->session.JobOf(size.count, size.texts, size.entry), leave);
}

std::variant<JobResult, std::exception_ptr> Client::Session::RunOne(size_t number, JobRequest request,
                                                                    const JobSize& next) {
  State& s = *s_;
  SUF_CHECK(!s.client.options_.audits);
  const store::Job job = s.session.JobOf(request.count, request.texts, request.entry);
  JobResult ran = s.RunJob(number, std::move(request), job, s.WorkOf(job),
                           next.count ? s.session.JobOf(next.count, next.texts, next.entry) : store::Job{});
  if (const std::exception_ptr error = s.session.TakeError()) return error;
  return ran;
}

bool Client::Session::unspent() const { return s_->session.unspent(); }
bool Client::Session::stays() const { return s_->session.stays(); }
bool Client::Session::audit_failed() const { return s_->session.audit_failed(); }
void Client::Session::Stay() { s_->session.Stay(); }
void Client::Session::GiveUp() {
  s_->session.GiveUp();
  s_->ThrowLate();
}
void Client::Session::End() {
  s_->session.End();
  s_->ThrowLate();
}

}  // namespace suf::roles
