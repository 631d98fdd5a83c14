#include "suf/gpu/cuda/clock.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace suf::gpu::cuda {

using namespace pfss;  // NOLINT: the whole file speaks of traces

// ---- The events of a batch

double BatchClock::Lap() {
  const auto now = HostClock::now();
  return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
}

void BatchClock::Begin(StreamHandle s) {
  if (timed_) fence_.Begin(s);
  Record(kBegin, s);
  back_seconds_ = io_seconds_ = 0;
}

void BatchClock::End(StreamHandle s) {
  Record(kEnd, s);
  if (timed_) fence_.End();
}

void BatchClock::Record(BatchPoint p, StreamHandle s) const {
  if (timed_) points_[p].Record(s);
}

void BatchClock::Await(BatchPoint p, StreamHandle s) const {
  if (timed_) points_[p].Await(s);
}

void BatchClock::ReserveEnds(size_t instructions) {
  while (ends_.size() < instructions) ends_.emplace_back(true);
}

void BatchClock::TimeDownloads(const exec::cuda::DeviceStream& by, const std::function<void()>& downloads) {
  if (timed_) back_[0].Record(by.stream());
  downloads();
  if (timed_) back_[1].Record(by.stream());
  by.Wait();
  if (timed_) back_seconds_ += Seconds(back_[0], back_[1]);
}

void BatchClock::TimeIo(const std::function<void()>& work) {
  const auto begin = HostClock::now();
  work();
  io_seconds_ += std::chrono::duration<double>(HostClock::now() - begin).count();
}

// ---- The report of a batch

uint16_t TimeReport::ScopeOf(const grouping::Instruction& ins) const {
  return node(ins.group ? ins.members.back().node : ins.node).scope;
}

bool TimeReport::Apart(const LaunchBatch& batch) const {
  const std::span all(plan_.plan.instructions);
  const std::span mine = all.subspan(batch.begin, batch.end - batch.begin);
  const auto other = [&](const grouping::Instruction& ins) { return ScopeOf(ins) != ScopeOf(mine[0]); };
  return clock_.timed() && std::any_of(mine.begin(), mine.end(), other);
}

// Returns the kernels of a batch by scope, and their seconds if they are measured one by one.
TimeReport::ScopeTimes TimeReport::TimesOf(const LaunchBatch& batch, BatchClock::BatchPoint first) const {
  ScopeTimes by;
  const bool apart = Apart(batch);
  for (size_t k = batch.begin; k < batch.end; ++k) {
    TimeUse& use = by[ScopeOf(plan_.plan.instructions[k])];
    use.launches += launches_.OfInstruction(k);
    if (apart) use.compute += clock_.OfInstruction(k - batch.begin, first);
  }
  return by;
}

// Returns the bytes that were copied for a batch, by scope.
TimeReport::ScopeShares TimeReport::CopiedBytes(const DeviceStep& step, size_t b) const {
  ScopeShares out;
  const LaunchBatch& batch = plan_.batches[b];
  const auto frame = [&](int f) {
    if (f >= 0)
      for (const pfss::FrameField& p : s_.frames()[size_t(f)].parts) out[node(p.node).scope] += double(p.bytes);
  };
  if (b == step.begin) frame(step.receives);
  if (b + 1 == step.end) frame(step.sends);
  for (int i : role_ == Role::kDealer ? batch.made : batch.read) out[node(i).scope] += double(PackedBytes(node(i)));
  return out;
}

// Returns the bytes of a chapter's PRG words, by scope.
TimeReport::ScopeShares TimeReport::DrawnBytes(const Chapter& chapter) const {
  ScopeShares out;
  for (const auto& [i, slot] : chapter.drawn) out[node(i).scope] += double(slot.bytes);
  return out;
}

// Returns the nodes whose values a batch computes.
std::vector<int> TimeReport::Finished(const LaunchBatch& batch) const {
  std::vector<int> nodes;
  for (size_t k = batch.begin; k < batch.end; ++k) {
    const grouping::Instruction& ins = plan_.plan.instructions[k];
    if (!ins.group) nodes.push_back(ins.node);
    for (const grouping::Member& m : ins.members)
      if (!(m.emits && node(m.node).op == Op::kTell)) nodes.push_back(m.node);
  }
  return nodes;
}

void TimeReport::Report(const DeviceStep& step, size_t b, double seconds, Io& io) const {
  const LaunchBatch& batch = plan_.batches[b];
  const Chapter& chapter = plan_.chapters[batch.chapter];
  const bool expands = b == chapter.begin;
  // The point before the first kernel. At the beginning of a chapter, kernels wait for words.
  const auto first = expands ? BatchClock::kExpanded : BatchClock::kCopied;
  ScopeTimes by = TimesOf(batch, first);
  const auto most =
      std::max_element(by.begin(), by.end(), [](auto& x, auto& y) { return x.second.launches < y.second.launches; });
  const ScopeShares drawn = expands ? DrawnBytes(chapter) : ScopeShares{};
  if (!drawn.empty()) by[drawn.begin()->first].launches += launches_.OfChapter(batch.chapter);
  TimeUse rest{.compute = std::max(1e-9, seconds)};
  if (clock_.timed()) {
    // Divides a time by shares. Without shares it goes to the scope with most kernels.
    const auto divide = [&](double TimeUse::*what, const ScopeShares& shares, double time) {
      double sum = 0;
      for (const auto& [scope, share] : shares) sum += share;
      for (const auto& [scope, share] : shares) by[scope].*what += sum > 0 ? time * share / sum : 0;
      if (!(sum > 0)) most->second.*what += time;
    };
    const double kernels = clock_.Between(first, BatchClock::kEnd);
    if (!Apart(batch)) most->second.compute += kernels;
    const double words = expands ? clock_.Between(BatchClock::kCopied, BatchClock::kExpanded) : 0;
    // The copies that are hidden neither by the Io's work nor, at the dealer, by the next batch's kernels.
    const double copies = std::clamp(clock_.Copies(), 0.0, std::max(0.0, seconds - kernels - words));
    divide(&TimeUse::key, drawn, words);
    divide(&TimeUse::upload, CopiedBytes(step, b), copies);
    rest = {.host = std::max(1e-9, seconds - kernels - words - copies)};
  }
  io.ReportTime(most->first, rest);  // first, because it includes the Io's wait
  for (const auto& [scope, spent] : by) io.ReportTime(scope, spent);
  io.ReportDone(Finished(batch));
}

}  // namespace suf::gpu::cuda
