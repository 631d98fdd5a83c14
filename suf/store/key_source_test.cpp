// Keys that arrive late, wrong, twice or not at all, at every chunk: from a link, from disk, from memory. Also how far
// a feeder may be ahead of its run.
#include "suf/store/key_source.hpp"

#include <atomic>
#include <set>

#include "suf/store/internal/testing.hpp"

namespace suf::store {
namespace {

constexpr size_t kTag = net::ChunkTags::kBytes;
constexpr uint8_t kPoison = 0xA5;

// A body of five chunks. They have: two sections; one longer than a chunk; many small ones; one that fills a chunk;
// several. Sections of no bytes lie between them and at both ends.
const SharedLayout& OddBody() {
  static const SharedLayout layout = [] {
    std::vector<uint64_t> lengths{0, 1, 70'001, 0, kChunkBytes + 12'345, 17};
    for (uint64_t i = 0; i < 200; ++i) lengths.push_back(37 * i % 4999);
    lengths.insert(lengths.end(), {kChunkBytes, 0, 999'999, 48'576, 1, 0});
    return std::make_shared<const BodyLayout>(lengths);
  }();
  return layout;
}
constexpr size_t kChunks = 5;

// A bundle as its dealer sends it, with sections made out of order.
struct Sent {
  explicit Sent(uint64_t serial) : header(HeaderOf(serial)), body(OddBody()->bytes()) {
    header.body_bytes = body.size();
    RandomBytes(body);
    Sink sink(ChunkKey(header), OddBody(), [&](View c) { chunks.emplace_back(c.begin(), c.end()); });
    const size_t n = OddBody()->sections().size();
    for (size_t odd : {1, 0})
      for (size_t i = n; i-- > 0;) {
        if (i % 2 != odd) continue;
        const View from = Section(i);
        std::copy(from.begin(), from.end(), sink.Buffer(i).begin());
        sink.MarkWritten(i);
      }
    sink.Finish();
  }
  View Section(size_t i) const {
    uint64_t at = 0;
    for (size_t j = 0; j < i; ++j) at += OddBody()->sections()[j].bytes;
    return View(body).subspan(at, OddBody()->sections()[i].bytes);
  }
  BundleHeader header;
  Bytes body;
  std::vector<Bytes> chunks;
};
const Sent& Old() {  // as a disk or a malicious dealer may still have it
  static const Sent sent(1);
  return sent;
}

// Requests all sections of a chunk, reads them and gives them back; returns how many there were.
int ReadChunk(KeySource& keys, const Sent& sent, size_t chunk) {
  int read = 0;
  for (size_t i = 0; i < OddBody()->sections().size(); ++i) {
    const BodyLayout::SectionPlace& s = OddBody()->sections()[i];
    if (!s.bytes || s.chunk != chunk) continue;
    EXPECT_TRUE(Equal(keys.Section(i), sent.Section(i))) << "section " << i;
    keys.Release(i);
    ++read;
  }
  return read;
}
size_t FirstOf(size_t chunk) {
  size_t i = 0;
  while (!OddBody()->sections()[i].bytes || OddBody()->sections()[i].chunk != chunk) ++i;
  return i;
}

// Faults of one chunk.
enum Fault { kMissing, kTagAltered, kDataAltered, kTwice, kSwapped, kForeign };
constexpr Fault kFaults[] = {kMissing, kTagAltered, kDataAltered, kTwice, kSwapped, kForeign};

// The chunks after a fault, and the first one that is not the bundle's. It is kChunks if the excess follows all of
// them.
struct Faulty {
  Faulty(const Sent& sent, Fault fault, size_t at) : chunks(sent.chunks), bad(at) {
    const auto here = chunks.begin() + long(at);
    switch (fault) {
      case kMissing:
        chunks.erase(here, chunks.end());
        break;
      case kTagAltered:
        (*here)[at % kTag] ^= 1 << at;
        break;
      case kDataAltered:
        (*here)[kTag + here->size() / 2] ^= 1 << at;
        break;
      case kTwice:
        chunks.insert(here, Bytes(*here));
        ++bad;
        break;
      case kSwapped:
        bad = std::min(at, kChunks - 2);
        std::swap(chunks[bad], chunks[bad + 1]);
        break;
      case kForeign:
        *here = Old().chunks[at];
        break;
    }
  }
  std::vector<Bytes> chunks;
  size_t bad;
};

// Runs f with each fault at each chunk, each on a bundle of its own.
template <class F>
void EachFault(uint64_t* serial, F f) {
  for (Fault fault : kFaults)
    for (size_t at = 0; at < kChunks; ++at) {
      SCOPED_TRACE(testing::Message() << "fault " << fault << " at chunk " << at);
      const Sent sent(++*serial);
      f(fault, sent, Faulty(sent, fault, at));
    }
}

// A bundle that arrives over a link, and is claimed when its header is here.
struct Delivered {
  Delivered(Lane& s, const Sent& sent) : in(s.Receive(sent.header, Secret(Hash{5}), OddBody(), false, 1)) {
    std::tie(near, far) = net::InProcessPair({Role::kData, {}}, {Role::kDealer, {}});
    feeder = std::thread([this] {
      try {
        for (auto buffer = in.NextBuffer(); !buffer.empty(); buffer = in.NextBuffer()) {
          std::fill(buffer.begin(), buffer.end(), kPoison);
          near->RecvInto(net::kChunk, buffer);
          in.MarkFilled();
        }
        in.Commit();
      } catch (...) {
        in.Abort(std::current_exception());
      }
    });
    keys = s.Claim(sent.header.serial, OddBody()).keys;
  }
  ~Delivered() {
    in.Close();
    far.reset();
    feeder.join();
  }
  Lane::IncomingBundle in;
  std::unique_ptr<net::Channel> near, far;
  std::thread feeder;
  std::shared_ptr<KeySource> keys;
};

// Expects that no earlier and no later section is handed out any more.
void ExpectGone(KeySource& keys, size_t bad, Cause cause, const std::string& words) {
  EXPECT_TRUE(Fails(cause, words, [&] { (void)keys.Section(FirstOf(bad)); }));
  EXPECT_TRUE(Fails(cause, words, [&] { keys.AwaitAll(); }));
  EXPECT_TRUE(Fails(cause, words, [&] { (void)keys.Section(FirstOf(kChunks - 1)); }));
  EXPECT_TRUE(keys.failed());
  EXPECT_TRUE(keys.Section(0).empty());  // a section of no bytes needs no chunk
}

TEST(KeySource, AChunkThatIsNotTheNextOneOfALinkEndsTheReadingThere) {
  Scratch dir;
  OneLane s(dir / "s");
  uint64_t serial = 1;
  EachFault(&serial, [&](Fault fault, const Sent& sent, const Faulty& faulty) {
    Delivered d(s, sent);
    for (size_t c = 0; c < faulty.chunks.size() && c <= faulty.bad; ++c) {
      d.far->Send(net::kChunk, faulty.chunks[c]);
      if (c < faulty.bad && c < kChunks) {
        EXPECT_GT(ReadChunk(*d.keys, sent, c), 0);
      }
    }
    if (fault == kMissing) d.far.reset();
    if (faulty.bad == kChunks) {
      d.keys->AwaitAll();
      s->Finish(serial);
      return;
    }
    const bool missing = fault == kMissing,
               length = !missing && faulty.chunks[faulty.bad].size() != sent.chunks[faulty.bad].size();
    ExpectGone(*d.keys, faulty.bad, missing || length ? Cause::kPeer : Cause::kRefused,
               missing  ? "the dealer ended the connection"
               : length ? "bytes where"
                        : Str("bundle ", serial, " was altered; it is burnt"));
    s->Burn(serial);
    EXPECT_EQ(s->ledger().LastRecords().at(serial), RecordKind::kBurnt);
  });
  const Sent last(++serial);
  Delivered d(s, last);
  for (size_t c = 0; c < kChunks; ++c) {
    d.far->Send(net::kChunk, last.chunks[c]);
    ReadChunk(*d.keys, last, c);
  }
  d.keys->AwaitAll();
}

// The delivery breaks before a claim. The bundle is not offered, and its serial is not used up.
TEST(KeySource, ADeliveryThatBrokeBeforeTheClaimIsToldThere) {
  Scratch dir;
  OneLane s(dir / "s");
  const Sent sent(2), next(3);
  {
    auto in = s->Receive(sent.header, Secret(Hash{5}), OddBody(), false, 1);
    EXPECT_EQ(Serials(s), std::vector<uint64_t>{2});
    in.Abort(std::make_exception_ptr(Error(Cause::kPeer, "the dealer was silent")));
  }
  EXPECT_TRUE(s->Bundles().empty());
  EXPECT_TRUE(Fails(Cause::kPeer, "the dealer was silent", [&] { (void)s->Claim(2, OddBody()); }));
  { (void)s->Receive(next.header, Secret(Hash{5}), OddBody(), false, 1); }
  EXPECT_TRUE(Fails(Cause::kPeer, "bundle 3 did not come whole", [&] { (void)s->Claim(3, OddBody()); }));
  EXPECT_TRUE(s->ledger().LastRecords().empty());
}

TEST(KeySource, AChunkThatComesLateIsWaitedFor) {
  Scratch dir;
  OneLane s(dir / "s");
  double waited = 0;
  for (size_t late = 0; late < kChunks; ++late) {
    const Sent sent(2 + late);
    Delivered d(s, sent);
    std::thread dealer([&] {
      for (size_t c = 0; c < kChunks; ++c) {
        if (c == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        d.far->Send(net::kChunk, sent.chunks[c]);
      }
    });
    EXPECT_TRUE(Equal(BodyOf(*d.keys), sent.body));
    dealer.join();
    d.keys->AwaitAll();
    waited += d.keys->waited();
  }
  EXPECT_GT(waited, 0);
}

// Puts a bundle on disk that the dealer witnessed; returns a second name of its file.
std::string OnDisk(Lane& s, const std::string& dir, const Sent& sent) {
  const uint64_t serial = sent.header.serial;
  auto in = s.Receive(sent.header, Secret(Hash{5}), OddBody(), true);
  for (const Bytes& c : sent.chunks) Add(in, c);
  in.Commit();
  Witnessed(s, serial);
  const std::string name = Str(dir, "/outside", serial);
  fs::create_hard_link(FileOf(dir + "/s", serial), name);
  return name;
}
constexpr uint64_t kPreamble = sizeof(uint32_t) + kHeaderBytes + 32 + 32;
// Overwrites the chunks of a bundle's file, which stays the file that the store wrote.
void Overwrite(const std::string& file, const std::vector<Bytes>& chunks) {
  fs::resize_file(file, kPreamble);
  std::ofstream out(file, std::ios::binary | std::ios::app);
  for (const Bytes& c : chunks) {
    const uint32_t n = uint32_t(c.size());
    out.write(reinterpret_cast<const char*>(&n), sizeof n).write(reinterpret_cast<const char*>(c.data()), long(n));
  }
}

TEST(KeySource, AChunkThatWasChangedOnDiskEndsTheReadingThere) {
  Scratch dir;
  OneLane s(dir / "s");
  uint64_t serial = 1;
  EachFault(&serial, [&](Fault fault, const Sent& sent, const Faulty& faulty) {
    const std::string file = OnDisk(s, dir.path, sent);
    Overwrite(file, faulty.chunks);
    if (fs::file_size(file) < BundleFileBytes(*OddBody())) {
      EXPECT_TRUE(fault == kMissing);
      EXPECT_TRUE(Fails(Cause::kRefused, "is cut short; it is burnt", [&] { (void)s->Claim(serial, OddBody(), 1); }));
    } else {
      const Bundle b = s->Claim(serial, OddBody(), 1);
      // the chunk before the bad one is read together with it once requested, and fails together with it
      for (size_t c = 0; c + 1 < faulty.bad; ++c) EXPECT_GT(ReadChunk(*b.keys, sent, c), 0);
      if (faulty.bad == kChunks) {
        ReadChunk(*b.keys, sent, kChunks - 1);
        b.keys->AwaitAll();  // data behind the last chunk is not read
        s->Finish(serial);
        return;
      }
      const bool length = faulty.chunks[faulty.bad].size() != sent.chunks[faulty.bad].size();
      ExpectGone(*b.keys, faulty.bad, Cause::kRefused, length ? "is cut short or too long" : "was altered");
      s->Burn(serial);
    }
    EXPECT_EQ(s->ledger().LastRecords().at(serial), RecordKind::kBurnt);
  });
  const Sent last(++serial);
  OnDisk(s, dir.path, last);
  EXPECT_TRUE(Equal(BodyOf(s->Claim(serial, OddBody(), 1)), last.body));
}

TEST(KeySource, AFileThatIsCutShortAfterTheClaimEndsTheReadingThere) {
  Scratch dir;
  OneLane s(dir / "s");
  uint64_t serial = 1;
  for (size_t at = 1; at < kChunks; ++at)
    for (uint64_t more : {0, 2, 4, 9}) {  // in the chunk's length; in its tag
      const Sent sent(++serial);
      const std::string file = OnDisk(s, dir.path, sent);
      const Bundle b = s->Claim(serial, OddBody(), 1);  // reads one chunk
      uint64_t keep = kPreamble + more;
      for (size_t c = 0; c < at; ++c) keep += sizeof(uint32_t) + sent.chunks[c].size();
      fs::resize_file(file, keep);
      for (size_t c = 0; c + 1 < at; ++c) EXPECT_GT(ReadChunk(*b.keys, sent, c), 0);
      ExpectGone(*b.keys, at, Cause::kRefused, "is cut short or too long; it is burnt");
      s->Burn(serial);
    }
}

TEST(KeySource, ReadsFromMemoryWhateverLayThereBefore) {
  const Sent sent(2);
  for (uint64_t window : {uint64_t{0}, uint64_t{1}, kChunkBytes - 1, 2 * kChunkBytes, KeySource::kWhole}) {
    std::vector<exec::HostBuffer> used;  // buffers that the source gets
    for (const Bytes& c : sent.chunks) {
      used.emplace_back(c.size());
      std::fill(used.back().span().begin(), used.back().span().end(), kPoison);
    }
    used.clear();
    KeySource keys(OddBody(), window);
    keys.FeedFrom(sent.body);
    for (size_t c = 0; c < kChunks; ++c) ReadChunk(keys, sent, c);
    keys.AwaitAll();
    EXPECT_FALSE(keys.failed());
  }
}

TEST(KeySource, WhatTheFeederThrowsIsTheFailure) {
  const Sent sent(2);
  for (size_t at = 0; at < kChunks; ++at) {
    KeySource keys(OddBody(), 1);
    keys.Feed([&](KeySource& k) {
      for (size_t c = 0; c < at; ++c) {
        std::copy(sent.chunks[c].begin(), sent.chunks[c].end(), k.NextBuffer().begin());
        k.MarkFilled();
      }
      (void)k.NextBuffer();
      Fail(Cause::kResource, "the disk is gone");
    });
    for (size_t c = 0; c + 1 < at; ++c) ReadChunk(keys, sent, c);
    ExpectGone(keys, at, Cause::kResource, "the disk is gone");
  }
}

TEST(KeySource, AFailureAfterTheLastChunkIsNone) {
  KeySource keys(EvenBody(10), 1);
  EXPECT_EQ(keys.NextBuffer().size(), kTag + 10);
  keys.MarkFilled();
  keys.Fail(std::make_exception_ptr(Error(Cause::kPeer, "gone")));
  EXPECT_FALSE(keys.failed());
  EXPECT_EQ(keys.Section(0).size(), 10u);
  keys.AwaitAll();
  EXPECT_TRUE(keys.NextBuffer().empty());
}

TEST(KeySource, OfABodyWithoutBytesWaitsForNothing) {
  for (const std::vector<uint64_t>& lengths : {std::vector<uint64_t>{}, std::vector<uint64_t>{0, 0}}) {
    KeySource keys(std::make_shared<const BodyLayout>(lengths), 1);
    for (size_t i = 0; i < lengths.size(); ++i) {
      EXPECT_TRUE(keys.Section(i).empty());
      keys.Release(i);
    }
    keys.AwaitAll();
    EXPECT_TRUE(keys.NextBuffer().empty());
    keys.FeedFrom({});
  }
}

// A feeder that never rests is ahead by exactly the window, and by one chunk in any case. It reuses returned buffers.
TEST(KeySource, TheFeederIsAWindowAheadAndNoFurther) {
  constexpr size_t kMany = 24;
  std::vector<uint64_t> lengths;
  for (size_t i = 0; i < kMany; ++i) lengths.push_back(kChunkBytes - i % 3 * 100'000);
  const auto layout = std::make_shared<const BodyLayout>(lengths);
  for (const auto& [window, at_once] : std::vector<std::pair<uint64_t, size_t>>{{0, 1},
                                                                                {0, 3},
                                                                                {1, 1},
                                                                                {kChunkBytes, 1},
                                                                                {kChunkBytes * 5 / 2, 1},
                                                                                {kChunkBytes * 5 / 2, 3},
                                                                                {4 * kChunkBytes, 1},
                                                                                {4 * kChunkBytes, 3}}) {
    SCOPED_TRACE(testing::Message() << window << " " << at_once);
    std::atomic<size_t> came{0};
    std::set<const uint8_t*> buffers;
    KeySource keys(layout, window);
    std::thread feeder([&, most = at_once] {
      for (auto next = keys.NextBuffers(most); !next.empty(); next = keys.NextBuffers(most)) {
        EXPECT_LE(next.size(), most);
        for (const auto& buffer : next) {
          std::fill(buffer.begin(), buffer.end(), uint8_t(came));
          buffers.insert(buffer.data());
          ++came;  // before the source knows, so never too few
        }
        keys.MarkFilled(next.size());
      }
    });
    size_t asked = 0;
    // chunks that are here when the feeder rests
    auto due = [&, window = window] {
      size_t n = asked;
      for (uint64_t ahead = 0; n < kMany && (!ahead || ahead + lengths[n] <= window); ++n) ahead += lengths[n];
      return n;
    };
    auto settle = [&] {
      while (came < due()) std::this_thread::yield();
      EXPECT_EQ(came, due());
    };
    settle();
    for (size_t i = 0; i < kMany; i += 1 + i % 2) {  // some are not requested
      const size_t before = came;
      EXPECT_LE(before, due());
      asked = i + 1;
      const View v = keys.Section(i);
      EXPECT_TRUE(v.size() == lengths[i] && v[0] == i && v[v.size() - 1] == i);
      settle();
      EXPECT_EQ(v[v.size() / 2], i);
      for (size_t j = i; j < std::min(kMany, i + 1 + i % 2); ++j) keys.Release(j);
    }
    keys.AwaitAll();
    feeder.join();
    EXPECT_EQ(came, kMany);
    EXPECT_LE(buffers.size(), window / lengths[2] + 2 + at_once);  // ahead, being read, not given back, being filled
  }
}

// A party gives back at once the sections that it never reads, even while they arrive.
TEST(KeySource, WhatIsGivenBackWhileItComesStaysUntilItHasCome) {
  for (uint64_t bytes : {uint64_t{100'000}, uint64_t{3} << 20}) {
    const std::vector<uint64_t> lengths{bytes, bytes, bytes};
    const auto layout = std::make_shared<const BodyLayout>(lengths);
    KeySource keys(layout, KeySource::kWhole);
    for (size_t c = 0; c < layout->chunks().size(); ++c) {
      const std::span<uint8_t> buffer = keys.NextBuffer();
      std::fill(buffer.begin(), buffer.end(), kPoison);
      for (size_t i = 0; i < 3; ++i)
        if (layout->sections()[i].chunk == c) keys.Release(i);
      EXPECT_EQ(keys.NextBuffer().data(), buffer.data());
      exec::HostBuffer other(buffer.size());
      EXPECT_NE(other.span().data(), buffer.data());
      EXPECT_TRUE(std::all_of(buffer.begin(), buffer.end(), [](uint8_t b) { return b == kPoison; }));
      keys.MarkFilled();
    }
    keys.AwaitAll();
    EXPECT_THROW((void)keys.Section(1), Bug);
    EXPECT_THROW(keys.Release(1), Bug);
  }
}

TEST(KeySource, CloseEndsAFeederThatWaitsForTheWindow) {
  const Sent sent(2);
  for (bool claimed : {false, true}) {
    Scratch dir;
    OneLane s(dir / "s");
    auto in = s->Receive(sent.header, Secret(Hash{5}), OddBody(), false, 1);
    Add(in, sent.chunks[0]);
    std::shared_ptr<KeySource> keys;
    if (claimed) keys = s->Claim(2, OddBody()).keys;
    std::atomic<bool> over{false};
    std::thread feeder([&] {
      EXPECT_TRUE(in.NextBuffer().empty());
      over = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(over);
    claimed ? keys->Close() : in.Close();
    feeder.join();
    EXPECT_TRUE(in.NextBuffer().empty());
    EXPECT_TRUE(Fails(Cause::kPeer, "bundle 2 is not wanted any more; it is burnt", [&] { in.Commit(); }));
  }
  const Sent file(3);
  Scratch dir;
  OneLane s(dir / "s");
  OnDisk(s, dir.path, file);
  { (void)s->Claim(3, OddBody(), 1); }  // it is never read: its thread ends with it
  KeySource keys(OddBody(), 1);
  keys.FeedFrom(sent.body);
}

TEST(KeySource, HoldsAllForAnAudit) {
  const Sent sent(2);
  KeySource keys(OddBody(), KeySource::kWhole), narrow(OddBody(), 1);
  keys.FeedFrom(sent.body);
  Bytes all;
  for (size_t c = 0; c < kChunks; ++c) Append(&all, keys.Data(c));
  EXPECT_TRUE(Equal(all, sent.body));
  EXPECT_THROW((void)narrow.Data(0), Bug);
}

// At the other end, an error of the link ends the dealing. A generator is at most a window ahead of the link.
TEST(Sink, WhatTheLinkThrowsEndsTheDealing) {
  const Sent sent(2);
  for (size_t at = 0; at < kChunks; ++at) {
    size_t out = 0;
    Sink sink(
        ChunkKey(sent.header), OddBody(),
        [&](View c) {
          if (out == at) Fail(Cause::kPeer, "the data owner ended the connection");
          EXPECT_TRUE(Equal(c, sent.chunks[out++]));
        },
        1);
    EXPECT_TRUE(Fails(Cause::kPeer, "ended the connection", [&] {
      sink.Write(sent.body);
      sink.Finish();
    }));
    EXPECT_EQ(out, at);
  }
}

TEST(Sink, AGeneratorIsAWindowAheadAndNoFurther) {
  const Sent sent(2);
  for (uint64_t window : {uint64_t{1}, kChunkBytes, 3 * kChunkBytes}) {
    std::atomic<uint64_t> made{0}, left{0};
    Sink sink(
        ChunkKey(sent.header), OddBody(),
        [&](View c) {
          // finished but not out: below the window when the last chunk was begun
          EXPECT_LT(made - left, window + 2 * OddBody()->largest());
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          left += c.size() - kTag;
        },
        window);
    for (size_t i = 0; i < OddBody()->sections().size(); ++i) {
      const View from = sent.Section(i);
      std::copy(from.begin(), from.end(), sink.Buffer(i).begin());
      made += from.size();
      sink.MarkWritten(i);
    }
    sink.Finish();
    EXPECT_EQ(left, sent.body.size());
    if (window == 1) {
      EXPECT_GT(sink.waited().count(), 0);
    }
  }
}

// The generator of a bundle failed. Finished chunks may have left; nothing more does.
TEST(Sink, WithoutFinishDropsWhatIsNotOut) {
  const Sent sent(2);
  std::atomic<size_t> out{0};
  {
    Sink sink(ChunkKey(sent.header), OddBody(), [&](View) {
      ++out;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
    sink.Write(View(sent.body).first(sent.body.size() - 1));
  }
  EXPECT_LT(out, kChunks);
}

}  // namespace
}  // namespace suf::store
