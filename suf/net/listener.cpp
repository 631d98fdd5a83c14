// Accepts clients and runs their handshakes and sessions, each in its own thread. Strangers get fewer resources
// than clients that showed a certificate.
#include <sys/resource.h>

#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "suf/base/foreign.hpp"
#include "suf/net/descriptors.hpp"
#include "suf/net/internal/asio.hpp"
#include "suf/net/internal/handshake.hpp"
#include "suf/net/join.hpp"
#include "suf/net/tls.hpp"

namespace suf::net {
namespace {

using asio::ip::tcp;
using Ec = std::error_code;

constexpr size_t kStrangers = 64;             // clients in their handshake; a new one replaces an old one
constexpr size_t kEnding = 32;                // threads that are about to end, besides those of sessions
constexpr Millis kJoining{10'000};            // time for the further streams of a session
constexpr Millis kGrace{100};                 // time in which no stranger is dropped
constexpr Millis kBusy{1000};                 // the longest wait of a new client for a thread
constexpr long kCertificateBytes = 16 << 10;  // size of a client's certificate message

// Returns kStrangers, or fewer if these would take more than an eighth of our descriptors.
size_t MostStrangers() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files)) return kStrangers;
  return std::clamp<size_t>(files.rlim_cur / 8, 1, kStrangers);
}

// A client's thread. `link` exists until the thread ends or is dropped. `stranger` says that it is in its handshake,
// `stopped` that DropIdleAndJoin or Abort dropped it.
struct Worker {
  std::thread thread;
  std::string at, who;  // its address, and "the client at ADDRESS"
  std::string title;    // the title of its role, once it showed a certificate
  std::shared_ptr<TlsLink> link;
  std::optional<Identity> counted;  // the peer of its session
  bool stranger = true, stopped = false, ended = false;
  const std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
};

}  // namespace

struct Listener::State {
  State(const Credentials& c, std::vector<Role> p, Millis t, int streams_each, int most)
      : own(c), peers(std::move(p)), timeout(t), streams(streams_each), most_sessions(size_t(most)) {}
  Credentials own;
  std::vector<Role> peers;
  Millis timeout;
  int streams;
  const size_t most_sessions, most_workers = most_sessions + kStrangers + kEnding;
  Lobby lobby;
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  std::mutex log;
  const size_t most_strangers = MostStrangers();
  std::mutex m;                     // guards the members below
  std::condition_variable changed;  // notified when a worker ends or is no longer a stranger
  std::list<Worker> workers;
  size_t sessions = 0;
  std::map<Hash, int> of_owner;  // the sessions of each data owner's key

  // Serves a client from handshake to end, in its thread.
  void Serve(Worker& w, const std::function<void(Channel&)>& session, const std::function<void(const Error&)>& failed);
  // Starts a thread for a new client, which runs `serve`; the caller keeps `serve`. Throws the system's error if no
  // thread can start.
  void Admit(tcp::socket client, const std::function<void(Worker&)>& serve);
  // Drops the oldest stranger, a silent one if there is any, so that a new client can connect.
  void DropOldest();
  // Removes the workers that ended. The lock is held, and no ended thread takes it again.
  void JoinEnded() {
    workers.remove_if([](Worker& w) {
      if (w.ended) w.thread.join();
      return w.ended;
    });
  }
  // Notes that this client is no longer a stranger.
  void Accept(Worker& w) {
    std::lock_guard l(m);
    w.stranger = false;
    changed.notify_all();
  }
  // Counts a session of this peer. Refuses it, in words for both ends, if there are too many.
  void Count(Channel& ch, Worker& w);
  // Drops all sessions except those that we deal or compute for, and waits until these end or idle.
  void DropIdleAndJoin();
};

void Listener::State::Count(Channel& ch, Worker& w) {
  size_t running = 0;
  int own_count = 0;
  {
    std::lock_guard l(m);
    w.title = ch.peer_title();
    running = sessions;
    const auto of = of_owner.find(ch.peer().key);
    own_count = of == of_owner.end() ? 0 : of->second;
    if (running < most_sessions && own_count < kSessionsOfOne) {
      ++sessions;
      if (ch.peer().role == Role::kData) ++of_owner[ch.peer().key];
      w.counted = ch.peer();
      return;
    }
  }
  if (running >= most_sessions)
    EndSession(ch, Refusal::kBusy, Cause::kPeer, ch.peer_title(), " came while ", running,
               " sessions are running, the most here; it must try again later");
  EndSession(ch, Refusal::kBusy, Cause::kPeer, ch.peer_title(), " came while ", own_count,
             " sessions of its certificate are running, the most of one; it must end some of them");
}

void Listener::State::Serve(Worker& w, const std::function<void(Channel&)>& session,
                            const std::function<void(const Error&)>& failed) {
  auto report = [&](const Error& e) {
    {
      std::lock_guard l(m);
      if (w.stopped) return;  // we ended it
    }
    std::lock_guard l(log);
    failed(e);
  };
  try {
    std::shared_ptr<TlsLink> link;
    {
      std::lock_guard l(m);
      link = w.link;  // null if it was dropped before it began
    }
    if (!link)
      Fail(Cause::kPeer, "a client was dropped for newer ones before its TLS handshake; see who connects here");
    SSL_set_max_cert_list(link->ssl(), kCertificateBytes);
    link->AllowStreams(StreamsWithin(streams, lobby.missing()));
    link->OnSeat([&](const std::string& seat) {
      if (lobby.ReserveSeat(seat)) Accept(w);
    });
    const std::shared_ptr<TlsLink> first = link;
    auto ch = DoHandshake(std::move(link), true, peers, timeout, w.who);
    if (first->is_stream()) {  // unless it named its seat, it is a stranger until it finds its session
      ch->set_timeout(std::min(timeout, kJoining));
      lobby.AddStream(static_cast<TlsChannel&>(*ch));
    } else {
      Accept(w);
      Count(*ch, w);
      if (const int n = first->streams(); n > 1)
        static_cast<TlsChannel&>(*ch).AddStreams(lobby.Gather(*ch, n, std::min(timeout, kJoining)));
      session(*ch);
    }
  } catch (const Error& e) {
    report(e);
  } catch (const std::exception& e) {
    report(Error(Cause::kResource, Message(e)));
  }
  std::lock_guard l(m);
  w.link = nullptr;
  w.stranger = false;
  w.ended = true;
  if (w.counted) {
    --sessions;
    if (const auto of = of_owner.find(w.counted->key); of != of_owner.end() && !--of->second) of_owner.erase(of);
  }
  changed.notify_all();
}

void Listener::State::DropOldest() {
  std::unique_lock l(m);
  for (;;) {
    Worker* oldest = nullptr;  // a silent client is dropped before one whose handshake has begun
    for (Worker& w : workers)
      if (w.stranger && (!oldest || (!oldest->link->silent() && w.link->silent()))) oldest = &w;
    if (!oldest) return;
    // a greeting follows its connection closely, and is read first
    if (std::chrono::steady_clock::now() >= oldest->begun + kGrace) {
      oldest->link->Drop();
      oldest->link.reset();
      oldest->stranger = false;
      return;
    }
    changed.wait_until(l, oldest->begun + kGrace);
  }
}

void Listener::State::Admit(tcp::socket client, const std::function<void(Worker&)>& serve) {
  size_t strangers = 0;
  {
    std::unique_lock l(m);
    const auto has_free_worker = [&] {
      JoinEnded();
      return workers.size() < most_workers;
    };
    if (!changed.wait_for(l, kBusy, has_free_worker)) return;
    for (const Worker& w : workers) strangers += w.stranger;
  }
  if (strangers >= most_strangers) DropOldest();
  Ec ignored;
  std::ostringstream at;  // not Str: libsuf.so would export it for a type of Asio
  at << client.remote_endpoint(ignored);
  client.set_option(tcp::no_delay(true), ignored);
  auto link = std::make_shared<TlsLink>(own, Fd(client.release()));
  std::lock_guard l(m);
  Worker& w = workers.emplace_back();
  w.at = at.str();
  w.who = "the client at " + w.at;
  w.link = std::move(link);
  try {
    w.thread = std::thread([&w, &serve] { serve(w); });
  } catch (...) {
    workers.pop_back();
    throw;
  }
}

void Listener::State::DropIdleAndJoin() {
  std::unique_lock l(m);
  // A session that refused its peer later on may end by itself; one that begins to idle would not.
  for (bool first = true;; first = false) {
    for (Worker& w : workers)
      if (w.link && (first ? !w.link->engaged : w.link->idle.load())) {
        w.link->Drop();
        w.link.reset();
        w.stopped = true;
      }
    JoinEnded();
    if (workers.empty()) return;
    changed.wait_for(l, kPeerPoll);  // no session notifies us when it idles
  }
}

Listener::Listener(const Credentials& own, const Address& where, std::vector<Role> peers, Millis timeout, int streams,
                   int sessions)
    : s_(std::make_unique<State>(own, std::move(peers), timeout, streams, sessions)) {
  SUF_CHECK(streams >= 1 && streams <= kMostStreams && sessions >= 1);
  Ec ec;
  tcp::resolver resolver(s_->io);
  const auto found = resolver.resolve(where.host, std::to_string(where.port), tcp::resolver::passive, ec);
  for (const auto& entry : found) {  // a name may have addresses that this machine lacks
    Ec ignored;
    s_->acceptor.close(ignored);
    s_->acceptor.open(entry.endpoint().protocol(), ec);
    if (!ec) s_->acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec) s_->acceptor.bind(entry.endpoint(), ec);
    if (!ec) s_->acceptor.listen(int(s_->most_workers), ec);
    if (!ec) break;
  }
  if (ec) Fail(Cause::kResource, "cannot listen on ", where.Text(), " (", Why(ec), "); choose another address");
}
Listener::~Listener() = default;

uint16_t Listener::port() const { return s_->acceptor.local_endpoint().port(); }

void Listener::Run(const std::function<void(Channel&)>& session, const std::function<void(const Error&)>& failed) {
  State& s = *s_;
  std::function<void(Worker&)> serve = [&](Worker& w) { s.Serve(w, session, failed); };
  std::function<void()> accept = [&] {
    s.acceptor.async_accept([&](Ec ec, tcp::socket client) {
      if (!s.acceptor.is_open()) return;
      try {
        if (ec) throw std::system_error(ec);
        s.Admit(std::move(client), serve);
      } catch (const std::exception&) {  // no descriptors, memory or threads: drop a stranger, and do not spin
        s.DropOldest();
        std::this_thread::sleep_for(Millis{50});
      }
      accept();
    });
  };
  accept();
  s.io.run();
  s.DropIdleAndJoin();
}

std::vector<std::string> Listener::Running() const {
  std::vector<std::string> out;
  std::lock_guard l(s_->m);
  for (const Worker& w : s_->workers)
    if (w.link && w.link->engaged) out.push_back(w.title + " at " + w.at);
  return out;
}

void Listener::Abort() {
  Stop();
  std::lock_guard l(s_->m);
  for (Worker& w : s_->workers)
    if (w.link) {
      w.link->Drop();
      w.stopped = true;
    }
}

void Listener::Stop() {
  asio::post(s_->io, [this] {
    Ec ignored;
    s_->acceptor.close(ignored);
  });
}

}  // namespace suf::net
