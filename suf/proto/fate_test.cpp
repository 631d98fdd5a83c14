// The dealer's view of a bundle does not depend on its fate. With audits on, the links of a used bundle and of a
// revealed one carry the same frames. They are over before either party shows the other what the bundle is for.
#include <array>
#include <map>
#include <string>

#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

// A frame at a party's end of a link. The payload is kept if it goes to the dealer and is not secret.
struct Seen {
  int link;  // 0: to the other party; from 1 on: to the dealer, counted for each party
  bool sent;
  uint16_t kind;
  size_t bytes;
  Bytes payload;
  bool operator==(const Seen& o) const = default;
};

// The frames of both parties in one order.
class Log {
 public:
  struct Entry {
    int party;
    Seen seen;
  };
  void Add(int party, Seen s) {
    std::lock_guard lock(m_);
    all_.push_back({party, std::move(s)});
  }
  int NewLink(int party) {
    std::lock_guard lock(m_);
    return int(++links_[size_t(party)]);
  }
  const std::vector<Entry>& all() const { return all_; }
  // Returns the frames of a party that the dealer sees, link after link.
  std::vector<std::vector<Seen>> Dealers(int party) const {
    std::vector<std::vector<Seen>> out(links_[size_t(party)]);
    for (const Entry& e : all_)
      if (e.party == party && e.seen.link) out[size_t(e.seen.link - 1)].push_back(e.seen);
    return out;
  }

 private:
  std::mutex m_;
  std::vector<Entry> all_;
  std::array<size_t, 2> links_{};
};

// A channel whose frames are logged.
class Watched final : public net::Channel {
 public:
  Watched(net::Channel& ch, Log& log, int link)
      : Channel(ch.self(), ch.peer(), ch.exporter(), ch.timeout()), wrapped_{ch}, log_(log), link_(link) {}
  Watched(std::unique_ptr<net::Channel> ch, Log& log) : Watched(*ch, log, log.NewLink(PartyOf(ch->self().role))) {
    owned_ = std::move(ch);
  }
  bool PeerGone(size_t due) override { return wrapped_.ch.PeerGone(due); }
  void HangUp() noexcept override { wrapped_.ch.HangUp(); }

 protected:
  void Put(View header, View payload) override {
    const uint16_t kind = Reader(header.subspan(4), "a header").Get<uint16_t>();
    const bool secret = !link_ || kind == net::kRequest;
    Note(true, kind, payload.size(), secret ? View() : payload);
    wrapped_.Put(header, payload);
  }
  ReceivedFrame Take(size_t limit) override {
    ReceivedFrame f = wrapped_.Take(limit);
    Note(false, f.kind, f.payload.size(), {});
    return f;
  }
  void Linger() noexcept override { wrapped_.Linger(); }

 private:
  void Note(bool sent, uint16_t kind, size_t bytes, View payload) {
    log_.Add(PartyOf(self().role), {link_, sent, kind, bytes, Bytes(payload.begin(), payload.end())});
  }
  std::unique_ptr<net::Channel> owned_;
  WrappedChannel wrapped_;
  Log& log_;
  int link_;
};

struct Setting {
  uint32_t ahead;
  bool witness_always, announced;
};

// Runs a session that uses (u) or reveals (o) one bundle per letter.
void RunWatched(const std::string& fates, const Setting& how, Log& log) {
  World w(how.ahead);
  w.keys.whole = true;
  w.keys.witness_always = how.witness_always;
  ModelHost host = w.Host();
  host.dealers = [dial = host.dealers[0].dial, &log](std::stop_token stop) -> std::unique_ptr<net::Channel> {
    return std::make_unique<Watched>(dial(std::move(stop)), log);
  };
  const DialDealer dial = [&](std::stop_token stop) -> std::unique_ptr<net::Channel> {
    return std::make_unique<Watched>(w.Link(Role::kData, std::move(stop)), log);
  };
  w.Session(host, [&](net::Channel& wrapped) {
    Watched ch(wrapped, log, 0);
    DataSession s(ch, w.plan, w.lane[1], dial, w.keys);
    for (size_t i = 0; i < fates.size(); ++i) {
      const store::Job job = store::JobOf(4), next = store::JobOf(how.announced && i + 1 < fates.size() ? 4 : 0);
      if (fates[i] == 'u')
        s.Infer(job, TestRun, next);
      else
        s.Audit(job, next);
    }
    s.End();
  });
  EXPECT_FALSE(w.model_error);
  for (int p : {0, 1})
    for (size_t i = 0; i < fates.size(); ++i)
      EXPECT_EQ(w.LastRecord(p, i + 1), fates[i] == 'u' ? store::RecordKind::kDone : store::RecordKind::kAudited);
}

// Expects the links for the i-th bundle to be over when P1 shows its purpose, and when P0 answers.
void ExpectOverBefore(const Log& log, size_t bundles) {
  for (int party : {0, 1}) {
    const auto tells = [&](const Seen& s) {
      return !s.link && (party ? s.sent && (s.kind == net::kClaim || s.kind == net::kAudit)
                               : !s.sent && s.kind == net::kAck);  // P0's answer, as it arrives
    };
    std::map<int, size_t> last;  // by link to the dealer: place of its last frame
    std::map<int, size_t> first;
    std::vector<size_t> told;
    for (size_t i = 0; i < log.all().size(); ++i) {
      const auto& [p, seen] = log.all()[i];
      if (p == 1 && tells(seen)) told.push_back(i);
      if (p == party && seen.link) {
        last[seen.link] = i;
        first.try_emplace(seen.link, i);
      }
    }
    ASSERT_EQ(told.size(), bundles);
    ASSERT_GE(last.size(), bundles);
    // no link is active when a fate is shown: each ends before it or begins after it
    for (size_t at : told)
      for (const auto& [link, end] : last) EXPECT_TRUE(end < at || first[link] > at) << "party " << party;
    size_t before = 0;
    for (const auto& [link, end] : last) before += end < told[0];
    EXPECT_GE(before, 1u);
  }
}

TEST(Fate, TheDealerSeesTheSameOfABundleThatIsUsedAndOfOneThatIsOpened) {
  for (const Setting& how : {Setting{1, false, false},
                             {1, false, true},
                             {1, true, false},
                             {1, true, true},
                             {3, false, false},
                             {3, false, true},
                             {3, true, true}}) {
    SCOPED_TRACE(testing::Message() << "ahead " << how.ahead << (how.witness_always ? ", witnessed" : "")
                                    << (how.announced ? ", announced" : ""));
    Log used;
    RunWatched("uuu", how, used);
    ExpectOverBefore(used, 3);
    for (const char* fates : {"ooo", "uou", "ouo"}) {
      SCOPED_TRACE(fates);
      Log log;
      RunWatched(fates, how, log);
      ExpectOverBefore(log, 3);
      for (int p : {0, 1}) EXPECT_TRUE(log.Dealers(p) == used.Dealers(p)) << "party " << p;
    }
  }
}

// The frames that are compared, for one delivery. Only the two goodbyes follow the dealer's last chunk on P1's link.
TEST(Fate, ADeliveryIsAHelloARequestAndKeysAtTheDealersPace) {
  for (const char* fate : {"u", "o"}) {
    Log log;
    RunWatched(fate, {1, false, false}, log);
    for (int p : {0, 1}) {
      const auto links = log.Dealers(p);
      ASSERT_EQ(links.size(), 1u);
      std::vector<std::pair<bool, uint16_t>> kinds,
          want{{true, net::kHello},  {false, net::kHello},  {true, net::kRequest},
               {false, net::kGrant}, {false, net::kHeader}, {false, net::kChunk}};
      if (p == 0) want.push_back({false, net::kChunk});
      want.insert(want.end(), {{true, net::kEnd}, {false, net::kEnd}});
      for (const Seen& s : links[0]) kinds.push_back({s.sent, s.kind});
      EXPECT_EQ(kinds, want);
    }
  }
}

}  // namespace
}  // namespace suf::proto
