#include "suf/gpu/cuda/keys.hpp"

#include <algorithm>

#include "suf/gpu/cuda/instance.hpp"
#include "suf/grouping/randomness.hpp"

namespace suf::gpu::cuda {

using namespace pfss;  // NOLINT: the whole file speaks of traces
using exec::cuda::Download;
using exec::cuda::StreamHandle;

// ---- Key sections

KeyFeed::KeyFeed(const Schedule& s, Role role, Instance& instance)
    : s_(s),
      role_(role),
      plan_(*instance.plan),
      memory_(instance.memory),
      stream_(instance.streams.copies),
      clock_(instance.clock),
      burst_of_(s.trace().nodes().size(), -1) {}

void KeyFeed::Await(const LaunchBatch& batch, Io& io) const {
  for (int i : batch.read)
    if (burst_of_[size_t(i)] < 0) (void)io.In(i);
}

// Uploads a section in the current burst, if anything reads it.
void KeyFeed::Upload(int i, Io& io) {
  const auto slot = plan_.keys.find(i);
  if (slot == plan_.keys.end() || burst_of_[size_t(i)] >= 0) return;
  const View v = io.In(i);
  SUF_CHECK(int64_t(v.size()) == PackedBytes(node(i)));
  exec::cuda::Upload(memory_.At(slot->second) + kEdge, v.data(), v.size(), stream_.stream());
  burst_of_[size_t(i)] = int(bursts_.size()) - 1;
  bursts_.back().nodes.push_back(i);
}

void KeyFeed::Take(const LaunchBatch& batch, Io& io) {
  burst_ = -1;
  bool opened = false;
  for (int i : batch.read) {
    if (burst_of_[size_t(i)] < 0) {
      if (!std::exchange(opened, true)) bursts_.emplace_back();
      Upload(i, io);
    }
    burst_ = std::max(burst_, burst_of_[size_t(i)]);
  }
  if (opened) bursts_.back().copied.Record(stream_.stream());
}

void KeyFeed::AwaitUploads(StreamHandle s) const {
  if (burst_ >= 0 && !bursts_[size_t(burst_)].released) bursts_[size_t(burst_)].copied.Await(s);
}

void KeyFeed::TakeAhead(Io& io, bool all) {
  if (role_ == Role::kDealer) return;
  const std::vector<pfss::FrameField>& order = s_.key(int(role_));
  if (next_ == order.size()) return;
  bursts_.emplace_back();
  // Bytes per step: more than an average step reads, but so few that frames do not wait for them.
  const size_t ahead = std::max(size_t{1} << 20, size_t(s_.key_bytes(int(role_))) / plan_.programs.size() * 5 / 4);
  for (size_t bytes = 0; next_ < order.size() && (all || bytes < ahead); ++next_) {
    const int i = order[next_].node;
    if (!plan_.keys.count(i) || burst_of_[size_t(i)] >= 0) continue;
    if (!io.Ready(i)) break;
    Upload(i, io);
    bytes += size_t(order[next_].bytes);
  }
  bursts_.back().copied.Record(stream_.stream());
  if (all) stream_.Wait();
}

void KeyFeed::Release(Io& io) {
  for (CopyBurst& b : bursts_) {
    if (b.released) continue;
    if (!b.copied.Passed()) break;
    for (int i : b.nodes) io.Release(i);
    b.released = true;
  }
}

// A few megabytes are sent together. Buffers for more are requested only after those before are filled.
void KeyFeed::Send(const LaunchBatch& batch, Io& io) const {
  constexpr size_t kTogether = size_t{4} << 20;
  std::vector<std::span<uint8_t>> buffers;
  size_t bytes = 0, first = 0;
  for (size_t k = 0; k < batch.made.size(); ++k) {
    const int i = batch.made[k];
    buffers.push_back(io.Out(i));
    SUF_CHECK(int64_t(buffers.back().size()) == PackedBytes(node(i)));
    bytes += buffers.back().size();
    if (bytes < kTogether && k + 1 < batch.made.size()) continue;
    clock_.TimeDownloads(stream_, [&] {
      for (size_t j = first; j <= k; ++j) {
        const std::span<uint8_t> to = buffers[j - first];
        Download(to.data(), memory_.At(batch.told.at(batch.made[j])) + kEdge, to.size(), stream_.stream());
      }
    });
    io.ReportDone(std::span(batch.made).subspan(first, k + 1 - first));
    bytes = 0;
    first = k + 1;
    buffers.clear();
  }
}

// ---- PRG words

WordFeed::WordFeed(const Schedule& s, Instance& instance)
    : t_(s.trace()),
      plan_(*instance.plan),
      memory_(instance.memory),
      streams_(instance.streams),
      launches_(instance.launches) {}

void WordFeed::Open(const Randomness& randomness) {
  const auto* streams = dynamic_cast<const grouping::PrgStreams*>(&randomness);
  on_device_ = streams != nullptr;
  if (!on_device_) return;
  const auto all = Sections(t_, plan_);
  WipedVector<fss::Prg::SectionKeys> keys;
  for (uint32_t p : {0u, 1u}) {
    std::vector<uint32_t> sections;
    for (const auto& [party, section] : all)
      if (party == p) sections.push_back(section);
    if (sections.empty()) continue;
    const WipedVector<fss::Prg::SectionKeys> of = streams->KeysOf(int(p), sections);
    keys.insert(keys.end(), of.begin(), of.end());
  }
  exec::cuda::Upload(memory_.section_keys(), keys.data(), keys.size() * sizeof(fss::Prg::SectionKeys),
                     streams_.work.stream());
  streams_.work.Wait();
}

void WordFeed::Provide(size_t chapter, const Randomness& randomness) {
  if (!on_device_) return Fill(plan_.chapters[chapter], randomness);
  for (; next_ <= chapter; ++next_) Expand(next_);
  streams_.expanded[chapter % 2].Await(streams_.work.stream());
}

void WordFeed::ExpandNext(size_t chapter) {
  if (on_device_ && chapter + 1 < plan_.chapters.size() && next_ == chapter + 1) Expand(next_++);
}

void WordFeed::FreeSlots(size_t chapter) const { streams_.used[chapter % 2].Record(streams_.work.stream()); }

// Expands a chapter's words, while the chapter before it may run. The one before that no longer uses the slots.
void WordFeed::Expand(size_t c) {
  const StreamHandle s = streams_.words.stream();
  if (c >= 2) streams_.used[c % 2].Await(s);
  launches_.CountChapter(c, [&] {
    const GroupCodes& codes = memory_.codes();
    if (codes.many[c]) fss::cuda::Expand(codes.pieces[c], codes.many[c], s);
  });
  streams_.expanded[c % 2].Record(s);
}

// Draws a chapter's words on the host.
void WordFeed::Fill(const Chapter& c, const Randomness& randomness) const {
  for (const auto& [i, slot] : c.drawn) {
    const Node& n = t_.node(i);
    WipedVector<uint8_t> words((slot.bytes + 15) / 16 * 16);
    randomness.SectionAt(int(n.attrs[0]), int(n.attrs[1]))->Fill(0, std::span(words).first(slot.bytes));
    exec::cuda::Upload(memory_.At(slot), words.data(), slot.bytes, streams_.work.stream());
    streams_.work.Wait();
  }
}

}  // namespace suf::gpu::cuda
