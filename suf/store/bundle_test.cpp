#include "suf/store/bundle.hpp"

#include "suf/base/scratch_test.hpp"

namespace suf::store {
namespace {

BundleHeader Sample() {
  BundleHeader h;
  h.prg = 3;
  h.job = {1, 2, 12, 3, 4};
  h.lane.fill(9);
  h.party = 1;
  h.serial = 77;
  h.body_bytes = 5'000'000;
  uint8_t i = 1;
  for (Hash* x :
       {&h.plan, &h.trace, &h.weights, &h.rho, &h.seed_hash[0], &h.seed_hash[1], &h.public_key[0], &h.public_key[1]})
    x->fill(i++);
  h.pair = Share(Secret::Random());
  return h;
}

TEST(BundleHeader, RoundTripsAndRefusesOtherVersionsAndLengths) {
  BundleHeader h = Sample();
  Bytes e = Encode(h);
  EXPECT_EQ(Encode(DecodeHeader(e)), e);
  EXPECT_EQ(e.size(), kHeaderBytes);
  for (size_t i = 0; i < h.lane.size(); ++i) EXPECT_EQ(e[48 + i], 9);
  EXPECT_EQ(e[28], 4);  // texts
  for (size_t n = 0; n < e.size(); ++n) EXPECT_THROW(DecodeHeader(View(e).first(n)), Error) << n;
  Bytes longer = e;
  longer.push_back(0);
  EXPECT_TRUE(Fails(Cause::kRefused, "too many", [&] { DecodeHeader(longer); }));
  h.version = 9;
  EXPECT_TRUE(Fails(Cause::kRefused, "a bundle of version 9", [&] { DecodeHeader(Encode(h)); }));
  h = Sample();
  h.party = 2;
  EXPECT_TRUE(Fails(Cause::kRefused, "party 2", [&] { DecodeHeader(Encode(h)); }));
}

TEST(DeriveKey, FollowsTheFormulaAndEveryFieldMatters) {
  BundleHeader h = Sample();
  Secret seed{Hash{42}};
  // docs/mathematics.md#prg: version | p | H(seed_0) | H(seed_1) | plan | trace digest | weights id | list | job |
  // serial | lane
  Writer info;
  info.Put(kBundleVersion);
  info.Put(uint32_t{1});
  info.Raw(h.seed_hash[0]);
  info.Raw(h.seed_hash[1]);
  info.Raw(h.plan);
  info.Raw(h.trace);
  info.Raw(h.weights);
  info.Raw(h.list);
  Put(info, h.job);
  info.Put(uint64_t{77});
  info.Raw(h.lane);
  Secret expected = Hkdf(h.rho, Hash{42}, info.bytes());
  auto key = [&](const BundleHeader& x, int p = 1) {
    Secret k = DeriveKey(x, p, seed);
    return Hex(k.view());
  };
  EXPECT_EQ(key(h), Hex(expected.view()));
  EXPECT_NE(key(h, 0), key(h));
  for (Hash BundleHeader::*f :
       {&BundleHeader::plan, &BundleHeader::trace, &BundleHeader::weights, &BundleHeader::list, &BundleHeader::rho}) {
    BundleHeader other = h;
    (other.*f)[31] ^= 1;
    EXPECT_NE(key(other), key(h));
  }
  for (int i = 0; i < 5; ++i) {
    BundleHeader other = h;
    (i == 0 ? other.seed_hash[0][5] : other.seed_hash[1][5]) ^= uint8_t(i < 2);
    other.serial += i == 2;
    other.version += i == 3;
    other.lane[15] ^= i == 4;
    EXPECT_NE(key(other), key(h)) << i;
  }
  for (uint32_t Job::*f : {&Job::entry, &Job::variant, &Job::tokens, &Job::past, &Job::texts}) {
    BundleHeader other = h;
    other.job.*f += 1;
    EXPECT_NE(key(other), key(h));
  }
}

struct Chunked {
  explicit Chunked(size_t total, size_t step) : data(total) {
    RandomBytes(data);
    Sink s(Hash{9}, EvenBody(total), [&](View c) { chunks.emplace_back(c.begin(), c.end()); });
    for (size_t at = 0; at < total; at += step) s.Write(View(data).subspan(at, std::min(step, total - at)));
    s.Finish();
  }
  Bytes data;
  std::vector<Bytes> chunks;
};

TEST(Chunks, ArriveWholeWhateverTheWriterDoes) {
  for (size_t total : {size_t{0}, size_t{1}, kChunkBytes, kChunkBytes + 1, 3 * kChunkBytes - 5})
    for (size_t step : {size_t{70'001}, kChunkBytes, 2 * kChunkBytes + 3}) {
      Chunked c(total, step);
      ChunkVerifier verifier(Hash{9}, EvenBody(total));
      Bytes got;
      for (const Bytes& chunk : c.chunks) {
        View v = verifier.Verify(chunk, "the stream");
        got.insert(got.end(), v.begin(), v.end());
      }
      EXPECT_EQ(verifier.left(), 0u);
      EXPECT_EQ(got, c.data);
    }
}

TEST(Chunks, AlteredSwappedShortOrForeignChunksAreRefused) {
  Chunked c(3 * kChunkBytes, 1 << 20);
  auto read = [&](const std::vector<Bytes>& chunks, Hash start = {9}) {
    ChunkVerifier verifier(start, EvenBody(3 * kChunkBytes));
    for (const Bytes& b : chunks) (void)verifier.Verify(b, "the stream");
  };
  read(c.chunks);
  for (size_t at :
       {size_t{0}, net::ChunkTags::kBytes - 1, net::ChunkTags::kBytes, net::ChunkTags::kBytes + kChunkBytes - 1}) {
    auto bad = c.chunks;
    bad[1][at] ^= 1;
    EXPECT_TRUE(Fails(Cause::kRefused, "the stream was altered", [&] { read(bad); })) << at;
  }
  auto bad = c.chunks;
  std::swap(bad[0], bad[1]);
  EXPECT_TRUE(Fails(Cause::kRefused, "altered", [&] { read(bad); }));
  bad = c.chunks;
  bad[2].pop_back();
  EXPECT_TRUE(Fails(Cause::kRefused, "cut short", [&] { read(bad); }));
  bad = c.chunks;
  bad.push_back(bad[2]);
  EXPECT_TRUE(Fails(Cause::kRefused, "too long", [&] { read(bad); }));
  EXPECT_TRUE(Fails(Cause::kRefused, "altered", [&] { read(c.chunks, Hash{8}); }));
}

// Sections have many lengths, some longer than a chunk, and are made out of order.
TEST(Sink, ChunksOfAnyLengthsComeInOrderWithTheirTags) {
  std::vector<uint64_t> lengths;
  for (uint64_t i = 0; i < 60; ++i) lengths.push_back(i % 7 ? i * 9001 % 300'001 : i * kChunkBytes / 14);
  const auto layout = std::make_shared<const BodyLayout>(std::span<const uint64_t>(lengths));
  ASSERT_GT(layout->largest(), 3 * kChunkBytes);
  Bytes data(layout->bytes()), got;
  RandomBytes(data);
  ChunkVerifier verifier(Hash{9}, layout);
  Sink s(
      Hash{9}, layout,
      [&](View chunk) {
        const View v = verifier.Verify(chunk, "the stream");
        got.insert(got.end(), v.begin(), v.end());
      },
      2 * kChunkBytes);
  std::vector<uint64_t> at(lengths.size());
  for (size_t i = 1; i < at.size(); ++i) at[i] = at[i - 1] + lengths[i - 1];
  for (size_t pair = 0; pair < lengths.size(); pair += 2)
    for (size_t i : {pair + 1, pair}) {
      const std::span<uint8_t> buffer = s.Buffer(i);
      std::copy_n(data.begin() + long(at[i]), buffer.size(), buffer.begin());
      s.MarkWritten(i);
    }
  s.Finish();
  EXPECT_EQ(verifier.left(), 0u);
  EXPECT_EQ(got, data);
}

TEST(BufferPool, ReusesWhatFitsAndHoldsTwiceTheWindowAtMost) {
  BufferPool pool(10, 1000);
  EXPECT_EQ(pool.Take(7).size(), 10u);
  pool.Return(pool.Take(100));
  pool.Return(pool.Take(900));
  EXPECT_EQ(pool.Take(400).size(), 400u);  // neither: one is too small, one more than twice as large
  pool.Return(pool.Take(450));
  EXPECT_EQ(pool.Take(901).size(), 901u);  // all would be 2311 bytes: the buffer of 100 goes, then that of 900
  EXPECT_EQ(pool.Take(60).size(), 60u);
  EXPECT_EQ(pool.Take(500).size(), 500u);
}

// Several chunks are tagged at a time. Each has the tag of its number, and they arrive in order.
TEST(Sink, GivesTheSameChunksToWhoKeepsThem) {
  const Chunked c(9 * kChunkBytes + 7, 3 * kChunkBytes + 1);
  std::vector<Bytes> kept;
  {
    Sink s(Hash{9}, EvenBody(c.data.size()),
           [&](exec::HostBuffer chunk) { kept.emplace_back(chunk.view().begin(), chunk.view().end()); });
    s.Write(c.data);
    s.Finish();
  }
  EXPECT_EQ(kept, c.chunks);
  net::ChunkTags tags(Hash{9}), again(Hash{9});
  std::vector<std::array<uint8_t, net::ChunkTags::kBytes>> in_order;
  for (const Bytes& chunk : c.chunks) {
    in_order.push_back(tags.Next(View(chunk).subspan(net::ChunkTags::kBytes)));
    EXPECT_TRUE(std::equal(in_order.back().begin(), in_order.back().end(), chunk.begin()));
  }
  for (size_t i = c.chunks.size(); i-- > 0;)
    EXPECT_EQ(again.Of(i, View(c.chunks[i]).subspan(net::ChunkTags::kBytes), {}), in_order[i]) << i;
}

TEST(Sink, WhoKeepsAndThrowsEndsTheGenerator) {
  Sink s(Hash{9}, EvenBody(4 * kChunkBytes), [](exec::HostBuffer) { Fail(Cause::kPeer, "no more"); });
  EXPECT_TRUE(Fails(Cause::kPeer, "no more", [&] {
    s.Write(Bytes(4 * kChunkBytes));
    s.Finish();
  }));
}

TEST(Sink, AChunkThatLeavesStaysUntilItIsGone) {
  const Chunked c(9 * kChunkBytes + 7, 3 * kChunkBytes + 1);
  for (bool breaks : {false, true}) {
    std::deque<View> leaving;
    size_t gone = 0;
    const auto out = [&](View chunk) {
      if (breaks && gone == 3) Fail(Cause::kPeer, "no more");
      leaving.push_back(chunk);
      EXPECT_LE(leaving.size(), Sink::kLeaving + 1);
    };
    const auto is_gone = [&](View chunk) {
      if (leaving.empty() || chunk.data() != leaving.front().data()) return;  // a chunk that `out` has not taken
      EXPECT_EQ(Bytes(chunk.begin(), chunk.end()), c.chunks[gone]);
      leaving.pop_front();
      ++gone;
    };
    const auto all = [&] {
      Sink s(Hash{9}, EvenBody(c.data.size()), out, is_gone, 2 * kChunkBytes);
      s.Write(c.data);
      s.Finish();
    };
    if (breaks)
      EXPECT_TRUE(Fails(Cause::kPeer, "no more", all));
    else
      all();
    EXPECT_TRUE(leaving.empty());
    EXPECT_EQ(gone, breaks ? 7u : c.chunks.size());  // four were leaving when it broke, and were still read
  }
}

TEST(Sink, TakesExactlyWhatWasAnnounced) {
  Sink s(Hash{}, EvenBody(10), [](View) {});
  s.Write(Bytes(9));
  EXPECT_THROW(s.Finish(), Bug);
  EXPECT_THROW(s.Write(Bytes(2)), Bug);
}

}  // namespace
}  // namespace suf::store
