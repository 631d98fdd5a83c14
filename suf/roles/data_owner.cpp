#include "suf/roles/data_owner.hpp"

#include <algorithm>
#include <chrono>

#include "suf/ring/words.hpp"
#include "suf/roles/internal/parts.hpp"
#include "suf/roles/model.hpp"

namespace suf::roles {

namespace {

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

// Booked: bytes a channel has counted so far, by phase and direction.
struct Booked {
  uint64_t p0 = 0, p1 = 0, ahead = 0, setup = 0;
  explicit Booked(const net::Channel& ch) {
    using net::Phase;
    p0 = ch.traffic(Phase::kOnline).bytes_received, p1 = ch.traffic(Phase::kOnline).bytes_sent;
    ahead = ch.traffic(Phase::kOffline).bytes_sent, setup = ch.traffic(Phase::kSetup).bytes_received;
  }
};

// PlaceAudits: how many audits come before and after each text. All texts have as many, but for a rest that random ones
// have; a text's own bundle is at a random place among those of its length, so that the dealer cannot know which is
// used.
std::vector<std::array<int, 2>> PlaceAudits(size_t texts, size_t audits) {
  auto below = [](uint64_t n) {
    uint64_t r;
    RandomBytes({reinterpret_cast<uint8_t*>(&r), sizeof r});
    return r % n;
  };
  std::vector<int> count(texts, int(audits / texts));
  for (size_t i = 0, rest = audits % texts; i < texts; ++i)
    if (below(texts - i) < rest) ++count[i], --rest;
  std::vector<std::array<int, 2>> places;
  for (int c : count) {
    int before = int(below(uint64_t(c) + 1));
    places.push_back({before, c - before});
  }
  return places;
}

// Due: the bundles that texts and audits take, one after the other.
class Due {
 public:
  Due(const std::vector<model::Ids>& texts, int audits, bool one_by_one)
      : places(PlaceAudits(texts.size(), size_t(audits))), one_by_one_(one_by_one) {
    for (size_t i = 0; i < texts.size(); ++i)
      jobs_.insert(jobs_.end(), size_t(1 + places[i][0] + places[i][1]), store::JobOf(uint32_t(texts[i].size())));
  }
  // Take: the next bundle; returns the job of the one after it, which is asked for meanwhile; of 0 tokens: none is.
  store::Job Take() { return ++taken_ < jobs_.size() && !one_by_one_ ? jobs_[taken_] : store::Job{}; }
  const std::vector<std::array<int, 2>> places;  // audits before and after each text

 private:
  bool one_by_one_;
  std::vector<store::Job> jobs_;
  size_t taken_ = 0;
};

}  // namespace

model::Ids Encode(const model::Tokenizer& tokenizer, const nn::Plan& plan, std::string_view text, bool cut) {
  model::Ids ids = tokenizer.Encode(text);
  const size_t n = model::CheckLength(ids.size(), size_t(plan.max_tokens), cut);
  return model::Shorten(std::move(ids), n);
}

std::vector<int64_t> Embedding::Integers() const {
  const int bits = work->trace.node(work->trace.result(1)).ring.bits;
  std::vector<int64_t> y;
  for (uint64_t w : words) y.push_back(ring::Signed(w, bits));
  return y;
}

std::vector<float> Embedding::Values() const {
  std::vector<float> e;
  for (int64_t v : Integers()) e.push_back(float(double(v) / double(int64_t{1} << scale)));
  return e;
}

DataOwner::DataOwner(Engine& engine, store::Store& store, proto::DialDealer dealer, Options options)
    : engine_(engine),
      store_(store),
      dealer_(std::move(dealer)),
      options_(std::move(options)),
      plan_(engine.ForProto()) {
  if (options_.keys.ahead > 1) store.CheckAhead();
  if (options_.audits && options_.one_by_one)
    Fail(Cause::kInput, "audits and texts one by one do not go together; leave out one of both");
}

struct DataOwner::Session::State {
  State(DataOwner& o, net::Channel& model_owner)
      : owner(o), ch(model_owner), session(ch, owner.plan_, owner.store_, owner.dealer_, owner.options_.keys) {
    ReadSetup(owner.engine_, session.Setup(), inputs);
    setup = Booked(ch).setup;
  }

  void Audit(int count, size_t n, Due& due) {
    for (int i = 0; i < count; ++i) {
      session.Audit(store::JobOf(uint32_t(n)), due.Take());
      if (owner.options_.audited) owner.options_.audited();
    }
  }

  // One: nothing in it looks at the result; what happens until the next frame takes as long for any.
  Embedding One(size_t index, model::Ids ids, std::shared_ptr<const Work> work, Due& due) {
    auto progress = [&](double done, const std::string& what) {
      if (owner.options_.progress) owner.options_.progress(index, done, what);
    };
    Embedding e{.work = std::move(work), .tokens = ids.size(), .scale = ResultScale(owner.engine_.plan())};
    inputs.Set("tokens", std::move(ids));
    const Booked before(ch);
    double fetch = 0, wall = 0;
    const auto start = Clock::now();
    progress(0, "keys from the dealer");
    session.Infer(
        store::JobOf(uint32_t(e.tokens)),
        [&](proto::Inference& inference) {
          fetch = inference.fetch_ms(), e.deal_ms = inference.dealt_ms();
          e.serial = inference.header().serial;
          Outcome out = RunInference(
              owner.engine_, inference, inputs,
              [&](int step, int steps, const std::string& scope) { progress(double(step) / steps, scope); });
          e.words = std::move(out.words), e.times = std::move(out.times);
          wall = Since(start) * 1e3;
        },
        due.Take());
    inputs.Drop("tokens");
    const Booked after(ch);
    e.bytes = {after.p0 - before.p0, after.p1 - before.p1, after.ahead - before.ahead, std::exchange(setup, 0)};
    e.transport_ms = std::max(0.0, fetch - e.deal_ms);
    e.ahead_ms = std::max(0.0, wall - fetch - e.times.total * 1e3);
    e.at_s = Since(begun);
    return e;
  }

  DataOwner& owner;
  net::Channel& ch;
  proto::DataSession session;
  run::Inputs inputs;
  uint64_t setup = 0;  // bytes, told with the first text
  Clock::time_point begun = Clock::now();
};

DataOwner::Session::Session(DataOwner& owner, net::Channel& model_owner) : s_(new State(owner, model_owner)) {}
DataOwner::Session::~Session() = default;
const std::vector<std::string>& DataOwner::Session::notices() const { return s_->session.notices(); }

void DataOwner::Session::Run(std::vector<model::Ids> texts, const std::function<void(size_t, Embedding)>& done) {
  if (texts.empty()) return;
  State& s = *s_;
  Due due(texts, s.owner.options_.audits, s.owner.options_.one_by_one);
  s.begun = Clock::now();
  for (size_t i = 0; i < texts.size(); ++i) {
    const size_t n = texts[i].size();
    auto work = s.owner.engine_.At(int(n));  // a fault of the trace is to end the call before an audit
    s.Audit(due.places[i][0], n, due);
    Embedding e = s.One(i, std::move(texts[i]), std::move(work), due);
    s.Audit(due.places[i][1], n, due);
    done(i, std::move(e));
  }
}

void DataOwner::Session::End() { s_->session.End(); }

}  // namespace suf::roles
