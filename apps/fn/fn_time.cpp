#include "apps/fn/fn_time.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <exception>
#include <future>
#include <thread>
#include <utility>

#include "apps/child.hpp"
#include "apps/fn/fn_pair.hpp"
#include "suf/cpu/packed.hpp"
#include "suf/fss/prg.hpp"
#include "suf/net/certs.hpp"
#include "suf/net/tls.hpp"
#include "suf/run/deal.hpp"
#include "suf/run/party.hpp"
#include "suf/store/bundle.hpp"

namespace suf::apps {

namespace {

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }
double Cpu() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}
// Times this thread from the construction on.
struct Watch {
  double cpu = Cpu();
  Clock::time_point wall = Clock::now();
  Duration Read() const { return {Cpu() - cpu, Since(wall)}; }
};
Duration Least(const Duration& a, const Duration& b) { return {std::min(a.cpu, b.cpu), std::min(a.wall, b.wall)}; }

constexpr uint16_t kKind = net::kFirstRun;

// The two ends of one TLS connection.
class Session {
 public:
  explicit Session(const std::string& certs)
      : own_(certs + "/model"), peer_(certs + "/data"), listener_(own_, {"127.0.0.1", 0}, {Role::kData}) {
    std::promise<net::Channel*> came;
    server_ = std::thread([&, this] {
      listener_.Run(
          [&](net::Channel& ch) {
            ch.Advance(net::PeerState::kEngaged);
            came.set_value(&ch);
            over_.get_future().wait();
          },
          [](const Error&) {});
    });
    ends_[1] = net::Dial(peer_, {"127.0.0.1", listener_.port()}, Role::kModel);
    ends_[1]->Advance(net::PeerState::kEngaged);
    server_end_ = came.get_future().get();
  }
  ~Session() {
    over_.set_value();
    listener_.Stop();
    server_.join();
  }
  net::Channel& end(int p) { return p ? *ends_[1] : *server_end_; }

 private:
  net::Credentials own_, peer_;
  net::Listener listener_;
  std::promise<void> over_;
  std::thread server_;
  std::unique_ptr<net::Channel> ends_[2];
  net::Channel* server_end_ = nullptr;
};

// Runs f(0) and f(1) at once, in two threads; rethrows the exception of either.
template <class F>
void Both(const F& f) {
  std::exception_ptr error[2];
  auto one = [&](int p) {
    try {
      f(p);
    } catch (...) {
      error[p] = std::current_exception();
    }
  };
  std::thread other([&] { one(0); });
  one(1);
  other.join();
  for (auto& e : error)
    if (e) std::rethrow_exception(e);
}

}  // namespace

class Trial {
 public:
  explicit Trial(TrialInput in)
      : inputs{std::move(in.inputs[0]), std::move(in.inputs[1]), {}}, verify(std::move(in.verify)) {
    in.emit(trace);
    schedule.emplace(trace);
    bill = compiler::BillOf(*schedule);
  }
  pfss::Trace trace;
  std::optional<pfss::Schedule> schedule;
  compiler::Bill bill;
  run::Inputs inputs[3];
  std::function<void(const PartyWords&)> verify;
  PartyWords result;
};

const compiler::Bill& BillOf(const Trial& t) { return t.bill; }
TraceTimes Least(const TraceTimes& a, const TraceTimes& b) {
  return {Least(a.deal, b.deal),
          Least(a.carry, b.carry),
          Least(a.keep, b.keep),
          {Least(a.party[0], b.party[0]), Least(a.party[1], b.party[1])},
          std::min(a.both, b.both)};
}

double MeasuredSeconds(const TraceTimes& t, const compiler::Bill& bill, const Machine& m, bool now) {
  double s = t.keep.cpu + t.party[0].cpu + t.party[1].cpu + bill.flights * m.wait();
  if (now) s += t.deal.cpu + t.carry.cpu;
  return s;
}

TrialInput TrialOf(const gates::FunctionPlan& plan, const std::vector<uint64_t>& x) {
  SUF_CHECK(plan.from != gates::Origin::kShared);
  TrialInput out;
  out.emit = [plan, count = int64_t(x.size())](pfss::Trace& t) { gates::Emit(t, plan, count); };
  out.inputs[plan.from == gates::Origin::kP1].Set(gates::InputOf(plan.from), x);
  out.verify = [plan, x](const PartyWords& result) {
    const std::vector<std::vector<uint64_t>> words =
        gates::ChannelWords(plan, result[plan.to == gates::To::kP0 ? 0 : 1], int64_t(x.size()));
    if (Wrong wrong = Compare(plan.f, x, words); wrong.count)
      Fail(Cause::kRefused, wrong.count, " of ", x.size(), " values of ", func::Name(plan.f), " by ", gates::Name(plan),
           " are wrong; report it");
  };
  return out;
}

struct TraceBench::State {
  explicit State(ring::Isa v) : variant(v) {
    net::MakeCerts(folder / "certs");
    session.emplace(folder / "certs");
    for (auto& p : pool) p = std::make_unique<exec::Pool>(1);
    for (size_t r : {0, 1, 2}) backend[r] = cpu::MakePacked(*pool[r], v);
  }
  // Sends bytes from P0's end to P1's; returns the time of the end that takes longer.
  Duration Carry(View bytes) {
    std::array<Duration, 2> took;
    Bytes room(store::kChunkBytes);
    Both([&](int p) {
      const Watch w;
      for (size_t at = 0; at < bytes.size(); at += store::kChunkBytes) {
        const View part = bytes.subspan(at, std::min(store::kChunkBytes, bytes.size() - at));
        if (p == 0)
          session->end(0).Send(kKind, part);
        else
          session->end(1).RecvInto(kKind, std::span(room).first(part.size()));
      }
      took[size_t(p)] = w.Read();
    });
    return {std::max(took[0].cpu, took[1].cpu), took[1].wall};
  }
  // Writes bytes to a file in tagged chunks, as a store does, and reads them back.
  Duration Keep(View bytes) {
    const std::string path = folder / "key";
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) Fail(Cause::kResource, "cannot make ", path, "; free some space there");
    const Hash secret{1};
    net::ChunkTags written(secret), seen(secret);
    back.resize(store::kChunkBytes + net::ChunkTags::kBytes);
    auto whole = [&](ssize_t did, size_t want) {
      if (did != ssize_t(want)) Fail(Cause::kResource, "cannot write ", path, "; free some space there");
    };
    const Watch w;
    for (size_t at = 0; at < bytes.size(); at += store::kChunkBytes) {
      const View part = bytes.subspan(at, std::min(store::kChunkBytes, bytes.size() - at));
      const auto tag = written.Next(part);
      whole(write(fd, tag.data(), tag.size()), tag.size());
      whole(write(fd, part.data(), part.size()), part.size());
    }
    whole(lseek(fd, 0, SEEK_SET), 0);
    for (size_t at = 0; at < bytes.size(); at += store::kChunkBytes) {
      const size_t n = std::min(store::kChunkBytes, bytes.size() - at), all = n + net::ChunkTags::kBytes;
      whole(read(fd, back.data(), all), all);
      const auto tag = seen.Next(View(back).subspan(net::ChunkTags::kBytes, n));
      SUF_CHECK(std::equal(tag.begin(), tag.end(), back.begin()));
    }
    const Duration took = w.Read();
    close(fd);
    return took;
  }
  ring::Isa variant;
  TempFolder folder;  // for certificates and a key
  std::optional<Session> session;
  std::array<std::unique_ptr<exec::Pool>, 3> pool;
  std::array<std::unique_ptr<pfss::Backend>, 3> backend;
  std::array<Bytes, 2> key;  // kept, so that their pages stay
  Bytes back;
};

TraceBench::TraceBench(ring::Isa variant) : s_(std::make_unique<State>(variant)) {}
TraceBench::~TraceBench() = default;

std::shared_ptr<Trial> TraceBench::Prepare(TrialInput in) { return std::make_shared<Trial>(std::move(in)); }

TraceTimes TraceBench::Run(Trial& t) {
  TraceTimes out;
  State& s = *s_;
  pfss::BundleSecrets m{{Secret::Random(), Secret::Random()}, RandomHash()};
  auto streams = [&](Role role) {
    pfss::BundleSecrets own{{}, m.rho};
    for (int p : {0, 1})
      if (role == Role::kDealer || int(role) == p) own.key[size_t(p)].emplace(m.key[size_t(p)]->view());
    return s.backend[size_t(role)]->Expand(std::move(own));
  };
  {
    const Watch w;
    s.key = run::DealBodies(*t.schedule, *s.backend[2], *streams(Role::kDealer), t.inputs[2]);
    out.deal = w.Read();
  }
  const Bytes& larger = s.key[s.key[1].size() > s.key[0].size()];
  out.carry = s.Carry(larger);
  out.keep = s.Keep(larger);
  std::barrier start(2);
  std::array<Clock::time_point, 2> begin, end;
  Both([&](int p) {
    bool arrived = false;
    try {
      run::ChannelLink link(s.session->end(p));
      auto mine = streams(Role(p));
      store::KeySource keys(std::make_shared<const store::BodyLayout>(run::LayoutOf(*t.schedule, p)),
                            store::KeySource::kWhole);
      keys.FeedFrom(s.key[size_t(p)]);
      Watch w;  // starts anew when the online part begins
      const auto begins = [&] {
        arrived = true;
        start.arrive_and_wait();
        begin[size_t(p)] = Clock::now();
        w = Watch();
      };
      t.result[size_t(p)] = run::RunParty({.schedule = *t.schedule,
                                           .backend = *s.backend[size_t(p)],
                                           .party = p,
                                           .randomness = *mine,
                                           .inputs = t.inputs[p],
                                           .keys = keys,
                                           .link = link,
                                           .online = begins});
      out.party[size_t(p)] = w.Read();
      end[size_t(p)] = Clock::now();
    } catch (...) {
      if (!arrived) start.arrive_and_drop();
      s.session->end(p).Refuse(net::Refusal::kGaveUp);
      throw;
    }
  });
  out.both = std::chrono::duration<double>(std::max(end[0], end[1]) - std::min(begin[0], begin[1])).count();
  return out;
}

void TraceBench::Verify(Trial& t) {
  SUF_CHECK(t.verify);
  Run(t);
  std::exchange(t.verify, {})(t.result);
}

Machine TraceBench::Measure() {
  State& s = *s_;
  constexpr int kTrips = 200, kRuns = 20;
  constexpr size_t kBulk = size_t{16} << 20, kDrawn = size_t{64} << 10;
  const Bytes small(64), bulk(kBulk, 1);
  Bytes drawn(kDrawn);
  const fss::Prg prg(Secret::Random(), Hash{1}, 0, s.variant);
  const fss::Prg::PrgSection section = prg.At(1);
  Machine least{{HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL, 0}, HUGE_VAL};
  auto see = [](double* price, double seconds, double units) { *price = std::min(*price, seconds / units); };
  for (int run = 0; run < kRuns; ++run) {
    std::array<Duration, 2> took;
    Both([&](int p) {
      net::Channel& ch = s.session->end(p);
      const Watch w;
      for (int i = 0; i < kTrips; ++i) {
        if (p == 0) ch.Send(kKind, small);
        (void)ch.RecvExact(kKind, small.size());
        if (p == 1) ch.Send(kKind, small);
      }
      took[size_t(p)] = w.Read();
    });
    const double busy = took[0].cpu + took[1].cpu;
    see(&least.prices.flight, took[0].wall, 2 * kTrips);
    see(&least.busy, busy, 2 * kTrips);
    see(&least.prices.wire, s.Carry(bulk).cpu, double(kBulk));
    see(&least.prices.key, s.Keep(bulk).cpu, double(kBulk));
    const Watch w;
    for (size_t i = 0; i < kBulk / kDrawn; ++i) section.Fill(i * kDrawn, drawn);
    see(&least.prices.block, w.Read().cpu, double(kBulk) / 16);
  }
  return least;
}

}  // namespace suf::apps
