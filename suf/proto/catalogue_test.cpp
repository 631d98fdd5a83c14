// Pulls: both files arrive as they are, within the limits of bytes and time, and no lane is made.
#include "suf/proto/catalogue.hpp"

#include <gtest/gtest.h>

#include "suf/proto/internal/altering_channel.hpp"
#include "suf/proto/internal/world.hpp"

namespace suf::proto {
namespace {

struct PullWorld : World {
  PublicFiles files{.plan = std::string(100'000, 'p'), .tokenizer = "[PAD]\n"};
  // Pulls from P0, and returns what P1 has.
  PublicFiles PullFrom(const ModelHost& host) {
    PublicFiles pulled;
    Session(host, [&](net::Channel& ch) {
      pulled = Pull(ch);
      sent = ch.traffic(net::Phase::kControl);
    });
    return pulled;
  }
  net::Traffic sent;
  // Runs a pull with a P0 that sends this catalogue, and then one file.
  void PullFromLiar(uint64_t plan_bytes, uint64_t tokenizer_bytes,
                    std::array<uint64_t, store::kMostIndexes> index_bytes = {}) {
    RunBoth(
        net::InProcessPair(kId[0], kId[1], timeout),
        [&](net::Channel& ch) {
          (void)ch.RecvExact(net::kPull, sizeof(uint32_t));
          Writer w;
          w.Put(plan_bytes);
          w.Put(tokenizer_bytes);
          for (const uint64_t bytes : index_bytes) w.Put(bytes);
          ch.Send(net::kCatalogue, w.bytes());
          ch.Send(net::kFile, Bytes(10));
          (void)ch.RecvExact(net::kEnd, 0);
        },
        [&](net::Channel& ch) { (void)Pull(ch); });
  }
};

constexpr size_t kCatalogueBytes = (2 + store::kMostIndexes) * sizeof(uint64_t);

TEST(PullOfFiles, BothFilesArriveAsTheyAre) {
  PullWorld w;
  for (const char* tokenizer : {"[PAD]\n", ""}) {
    w.files.tokenizer = tokenizer;
    ModelHost host = w.Host();
    host.files = &w.files;
    const PublicFiles pulled = w.PullFrom(host);
    EXPECT_EQ(pulled.plan, w.files.plan);
    EXPECT_EQ(pulled.tokenizer, tokenizer);
    EXPECT_TRUE(pulled.indexes.empty());
    EXPECT_TRUE(w.model_error == nullptr);
    // the request, and the end
    EXPECT_EQ(w.sent.frames_sent, 2u);
    EXPECT_EQ(w.sent.bytes_sent, 2 * net::kFrameHeader + sizeof(uint32_t));
    const size_t files = *tokenizer ? 2 : 1;
    EXPECT_EQ(w.sent.frames_received, 1 + files);
    EXPECT_EQ(w.sent.bytes_received,
              (1 + files) * net::kFrameHeader + kCatalogueBytes + w.files.plan.size() + w.files.tokenizer.size());
  }
  EXPECT_EQ(w.home[0]->Lanes(kId[1].key).size(), 1u) << "a pull makes no lane";
  for (int p : {0, 1}) EXPECT_TRUE(w.lane[p]->ledger().LastRecords().empty());
}

TEST(PullOfFiles, AServiceWithoutFilesRefuses) {
  PullWorld w;
  EXPECT_TRUE(Fails(Cause::kRefused, "offers no files to pull", [&] { (void)w.PullFrom(w.Host()); }));
  EXPECT_TRUE(w.ModelFails(Cause::kRefused, "this service offers no files"));
}

TEST(PullOfFiles, AnotherVersionOfTheProtocolIsRefused) {
  PullWorld w;
  ModelHost host = w.Host();
  host.files = &w.files;
  w.Session(host, [&](net::Channel& ch) {
    Writer request;
    request.Put(store::kWireVersion + 1);
    ch.Send(net::kPull, request.bytes());
    EXPECT_TRUE(Fails(Cause::kRefused, "the model owner speaks another version of the protocol",
                      [&] { (void)ch.RecvExact(net::kCatalogue, kCatalogueBytes); }));
  });
  EXPECT_TRUE(w.ModelFails(Cause::kRefused, Str("protocol version ", store::kWireVersion + 1)));
}

TEST(PullOfFiles, IndexPlansArriveInTheirOrder) {
  PullWorld w;
  w.files.indexes = {"first", "second index"};
  ModelHost host = w.Host();
  host.files = &w.files;
  const PublicFiles pulled = w.PullFrom(host);
  EXPECT_EQ(pulled.plan, w.files.plan);
  EXPECT_EQ(pulled.indexes, w.files.indexes);
}

TEST(PullOfFiles, ACatalogueBeyondTheLimitIsRefused) {
  PullWorld w;
  const uint64_t most = kMostPulled, all = ~uint64_t{0};
  for (const auto& [plan, tokenizer] : {std::pair{uint64_t{0}, uint64_t{10}},
                                        {most + 1, uint64_t{0}},
                                        {most, uint64_t{1}},
                                        {uint64_t{1}, all},
                                        {all, uint64_t{1}}})
    EXPECT_TRUE(Fails(Cause::kPeer, "all together may have 1 to 67108864", [&] { w.PullFromLiar(plan, tokenizer); }));
  EXPECT_TRUE(Fails(Cause::kPeer, "with 10 bytes where 11 were due", [&] { w.PullFromLiar(11, 0); }));
  for (const uint64_t bytes : {most, all})
    EXPECT_TRUE(Fails(Cause::kPeer, "all together may have 1 to 67108864", [&] {
      w.PullFromLiar(10, 0, {0, 1, bytes});
    }));
}

// Each side hangs up when its time is over, although the other one does not.
TEST(PullOfFiles, EndsWhenItsTimeIsOver) {
  constexpr net::Millis kShort{50};
  PullWorld w;
  EXPECT_TRUE(Fails(Cause::kPeer, "did not pass between the model owner and us within 0.05 s", [&] {
    w.RunBoth(
        net::InProcessPair(kId[0], kId[1], w.timeout),
        [&](net::Channel& ch) {
          (void)ch.Recv(net::kPull, kMostHello);
          (void)ch.Recv(net::kEnd, 0);
        },
        [&](net::Channel& ch) { (void)Pull(ch, kShort); });
  }));
  w.RunBoth(
      net::InProcessPair(kId[0], kId[1], w.timeout),
      [&](net::Channel& ch) { ServePull(ch, ch.Recv(net::kPull, kMostHello), &w.files, nullptr, kShort); },
      [&](net::Channel& ch) {
        Writer request;
        request.Put(store::kWireVersion);
        ch.Send(net::kPull, request.bytes());
        // takes everything, and never says that it is over
        EXPECT_TRUE(Fails(Cause::kPeer, "", [&] {
          for (;;)
            (void)ch.RecvEitherUpTo(ch.traffic(net::Phase::kControl).frames_received ? net::kFile : net::kCatalogue,
                                    net::kFile, kMostPulled);
        }));
      });
  EXPECT_TRUE(w.ModelFails(Cause::kPeer, "did not pass between the data owner and us within 0.05 s"));
}

// Makes faults at every frame of either side. P1 has files of the right sizes, or the errors are those of a failed
// peer.
TEST(PullOfFiles, AFaultAtAnyFrame) {
  constexpr net::Millis kShort{200};  // for a frame that never comes
  PullWorld w;
  using Change = std::function<std::vector<Bytes>(Bytes)>;
  std::vector<Change> changes{
      [](const Bytes&) { return std::vector<Bytes>{}; },
      [](const Bytes& b) {
        return std::vector<Bytes>{b, b};
      },
      [](Bytes b) {
        b.resize(b.size() ? b.size() - 1 : 1);
        return std::vector<Bytes>{b};
      },
      [](Bytes b) {
        b.push_back(0);
        return std::vector<Bytes>{b};
      },
  };
  for (const size_t bit : {0, 1, 7, 8, 31, 63, 64, 127, 4099})
    changes.emplace_back([bit](Bytes b) {
      if (bit < 8 * b.size()) b[bit / 8] ^= uint8_t(1 << bit % 8);
      return std::vector<Bytes>{b};
    });
  int failed = 0, cases = 0;
  const auto fault = [&](int side, int index, const Change& change) {
    std::vector<PassedFrame> passed;
    int sent = 0;
    const auto alter = [&](uint16_t kind, Bytes payload) {
      const bool here = kind != net::kRefuse && sent++ == index;
      return here ? change(std::move(payload)) : std::vector<Bytes>{std::move(payload)};
    };
    const auto between = [&](net::Channel& ch, int own, const std::function<void(net::Channel&)>& f) {
      if (own != side) return f(ch);
      AlteringChannel altering(ch, alter, passed);
      f(altering);
    };
    PublicFiles pulled;
    const auto ends = [](const std::exception_ptr& e) {
      try {
        if (e) std::rethrow_exception(e);
        return true;
      } catch (const Error& x) {
        EXPECT_TRUE(x.cause() == Cause::kPeer || x.cause() == Cause::kRefused) << x.what();
        return false;
      }
    };
    std::exception_ptr error;
    try {
      w.RunBoth(
          net::InProcessPair(kId[0], kId[1], w.timeout),
          [&](net::Channel& ch) {
            between(ch, 0,
                    [&](net::Channel& c) { ServePull(c, c.Recv(net::kPull, kMostHello), &w.files, nullptr, kShort); });
          },
          [&](net::Channel& ch) { between(ch, 1, [&](net::Channel& c) { pulled = Pull(c, kShort); }); });
    } catch (...) {
      error = std::current_exception();
    }
    const bool whole = ends(error);
    failed += !(ends(w.model_error) && whole);
    ++cases;
    if (whole) {
      EXPECT_EQ(pulled.plan.size(), w.files.plan.size());
      EXPECT_EQ(pulled.tokenizer.size(), w.files.tokenizer.size());
    }
  };
  for (const auto& [side, frames] : {std::pair{0, 3}, {1, 2}})
    for (int index = 0; index < frames; ++index)
      for (const Change& change : changes) fault(side, index, change);
  EXPECT_EQ(cases, 65);
  EXPECT_GT(failed, 30);
}

}  // namespace
}  // namespace suf::proto
