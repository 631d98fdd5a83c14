#include "suf/gpu/cuda/executor.hpp"

#include <algorithm>
#include <chrono>

#include "suf/gpu/cuda/bulk.hpp"
#include "suf/grouping/element.hpp"
#include "suf/grouping/randomness.hpp"
#include "suf/ring/modular.hpp"

namespace suf::gpu::cuda {

using namespace pfss;  // NOLINT: the whole file speaks of traces
using exec::cuda::DeviceMemory;
using exec::cuda::Download;
using exec::cuda::DownloadNow;
using exec::cuda::Upload;
using exec::cuda::UploadNow;
using Clock = std::chrono::steady_clock;

CudaExecutor::CudaExecutor(const Schedule& s, Role role, int device, DeviceWeightCache& weights,
                           std::unique_ptr<Instance> instance, InstanceReturn done)
    : s_(s),
      t_(s.trace()),
      role_(role),
      device_(device),
      weights_(weights),
      in_(std::move(instance)),
      plan_(*in_->plan_),
      done_(std::move(done)),
      burst_of_(t_.nodes().size(), -1) {}

CudaExecutor::~CudaExecutor() {
  try {
    exec::cuda::Use(device_);
    in_->Wipe();
    done_(std::move(in_));
  } catch (const std::exception&) {  // the device is lost, and its memory with it
  }
}

void CudaExecutor::OpenKeys(const Randomness& randomness) {
  const auto tree = randomness.TreeKey();
  Upload(in_->fixed_.data() + in_->tree_at_, tree.data(), tree.size(), in_->queue_.stream());
  const auto* streams = dynamic_cast<const grouping::PrgStreams*>(&randomness);
  ours_ = streams != nullptr;
  if (ours_) {
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
    Upload(in_->base_.keys, keys.data(), keys.size() * sizeof(fss::Prg::SectionKeys), in_->queue_.stream());
    in_->queue_.Wait();
  }
}

// Records an input's form. Returns whether it differs from that of the codes.
bool CudaExecutor::Note(int i, const Io::Data& data) {
  const InputForm now{data.bytes, data.is_signed};
  return !(std::exchange(in_->base_.forms.at(i), now) == now);
}

// Records the forms of all inputs that are there before the inference, so that codes and kernels are made once.
void CudaExecutor::AskForms(Io& io) {
  bool changed = false;
  for (const auto& [i, form] : in_->base_.forms)
    if (node(i).attrs[0] < 0) changed |= Note(i, io.Input(i));
  if (changed) in_->Assembled(s_, role_);
}

// Takes the inputs that a batch's instructions name, and the limbs of its weights.
void CudaExecutor::TakeInputs(size_t b, Io& io) {
  const LaunchBatch& batch = plan_.batches[b];
  const StreamHandle s = in_->queue_.stream();
  bool changed = false;
  for (size_t k = batch.begin; k < batch.end; ++k) {
    const Instruction& ins = plan_.plan.instructions[k];
    if (ins.group || ins.same >= 0 || node(ins.node).op != Op::kInput) continue;
    changed |= Note(ins.node, data_[ins.node] = io.Input(ins.node));
  }
  if (changed) in_->Assembled(s_, role_);
  for (size_t k = batch.begin; k < batch.end; ++k) {
    const Instruction& ins = plan_.plan.instructions[k];
    if (ins.group || ins.same >= 0 || !ReadsWeight(t_, ins.node)) continue;
    const Node& n = node(ins.node);
    const int i = plan_.Root(n.args[1]);
    const auto split = weights_.Limbs(t_.name(node(i).label), data_.at(i), int(node(i).shape[0]), int(node(i).shape[1]),
                                      std::max(1, s_.width(ins.node)), s);
    auto& held = in_->weights_[ins.node];
    if (held.planes != split.planes) in_->graphs_[b].reset();
    held = split;
  }
  for (size_t k = batch.begin; k < batch.end; ++k) {
    const Instruction& ins = plan_.plan.instructions[k];
    if (ins.group || ins.same >= 0 || node(ins.node).op != Op::kInput) continue;
    if (!in_->words_.count(ins.node)) continue;
    auto& held = in_->held_[ins.node];
    const uint8_t* const was = held ? held->data() : nullptr;
    held = weights_.Get(t_.name(node(ins.node).label), data_.at(ins.node), count(ins.node), held, s);
    const uint8_t* const at = held->data();
    if (at == was) continue;  // the graphs read its address from the same place
    Upload(const_cast<uint8_t*>(Value(ins.node).data), &at, sizeof at, s);
  }
}

// Bytes of a frame that are copied at once, while later ones arrive or earlier ones are sent.
constexpr size_t kChunk = size_t{1} << 17;

// Waits for the frame that a step receives, so that the wait does not count as copying. A long frame is copied as it
// arrives, unless the copy is measured.
void CudaExecutor::AwaitFrame(const DeviceStep& part, Io& io) {
  if (part.receives < 0) return;
  const pfss::Frame& f = s_.frames()[size_t(part.receives)];
  if (const View all = io.Received(); int64_t(all.size()) == f.bytes)
    return timed_ || all.size() <= kChunk ? io.Await(all.size()) : void();
  for (const pfss::FrameField& p : f.parts) (void)io.In(p.node);
}
// Waits for the sections that a batch reads, so that the wait does not count as copying.
void CudaExecutor::AwaitSections(const LaunchBatch& batch, Io& io) {
  for (int i : batch.read)
    if (burst_of_[size_t(i)] < 0) (void)io.In(i);
}

void CudaExecutor::TakeFrame(const DeviceStep& part, Io& io) {
  if (part.receives < 0) return;
  const pfss::Frame& f = s_.frames()[size_t(part.receives)];
  uint8_t* const to = At(part.received) + kEdge;
  if (const View all = io.Received(); int64_t(all.size()) == f.bytes) {
    for (size_t at = 0; at < all.size(); at += kChunk) {
      const View chunk = all.subspan(at, std::min(kChunk, all.size() - at));
      Meanwhile([&] { io.Await(at + chunk.size()); });
      UploadNow(to + at, chunk.data(), chunk.size(), in_->queue_.stream());
    }
    return;
  }
  for (const pfss::FrameField& p : f.parts) {
    const View v = io.In(p.node);
    Upload(to + p.at, v.data(), v.size(), in_->queue_.stream());
  }
}

// Uploads a section in the current burst, if anything reads it.
void CudaExecutor::UploadSection(int i, Io& io) {
  const auto room = plan_.keys.find(i);
  if (room == plan_.keys.end() || burst_of_[size_t(i)] >= 0) return;
  const View v = io.In(i);
  SUF_CHECK(int64_t(v.size()) == PackedBytes(node(i)));
  Upload(At(room->second) + kEdge, v.data(), v.size(), in_->copies_.stream());
  burst_of_[size_t(i)] = int(bursts_.size()) - 1;
  bursts_.back().nodes.push_back(i);
}

// Uploads the sections that a batch reads, and finds the burst with the last of them. The batch's kernels wait for it;
// the host does not.
void CudaExecutor::TakeSections(const LaunchBatch& batch, Io& io) {
  burst_ = -1;
  bool opened = false;
  for (int i : batch.read) {
    if (burst_of_[size_t(i)] < 0) {
      if (!std::exchange(opened, true)) bursts_.emplace_back();
      UploadSection(i, io);
    }
    burst_ = std::max(burst_, burst_of_[size_t(i)]);
  }
  if (opened) bursts_.back().mark.Record(in_->copies_.stream());
}

// Uploads available sections for later steps: some of them, or before the inference all.
void CudaExecutor::TakeAhead(Io& io, bool all) {
  if (role_ == Role::kDealer) return;
  const std::vector<pfss::FrameField>& order = s_.key(int(role_));
  if (next_key_ == order.size()) return;
  bursts_.emplace_back();
  // Bytes per step: more than an average step reads, but so few that frames do not wait for them.
  const size_t ahead = std::max(size_t{1} << 20, size_t(s_.key_bytes(int(role_))) / plan_.programs.size() * 5 / 4);
  for (size_t bytes = 0; next_key_ < order.size() && (all || bytes < ahead); ++next_key_) {
    const int i = order[next_key_].node;
    if (!plan_.keys.count(i) || burst_of_[size_t(i)] >= 0) continue;
    if (!io.Ready(i)) break;
    UploadSection(i, io);
    bytes += size_t(order[next_key_].bytes);
  }
  bursts_.back().mark.Record(in_->copies_.stream());
  if (all) in_->copies_.Wait();
}

// Releases the host's memory of sections that are on the device.
void CudaExecutor::GiveBack(Io& io) {
  for (Burst& b : bursts_) {
    if (b.given) continue;
    if (!b.mark.Passed()) break;
    for (int i : b.nodes) io.Read(i);
    b.given = true;
  }
}

// Draws a chapter's words on the host, for a randomness that the device cannot expand.
void CudaExecutor::FillWords(const Chapter& c, const Randomness& randomness) {
  for (const auto& [i, room] : c.drawn) {
    WipedVector<uint8_t> words((room.bytes + 15) / 16 * 16);
    randomness.Open(int(node(i).attrs[0]), int(node(i).attrs[1]))->Fill(0, std::span(words).first(room.bytes));
    Upload(At(room), words.data(), room.bytes, in_->queue_.stream());
    in_->queue_.Wait();
  }
}

// Expands a chapter's words while the one before it runs. The chapter before that no longer uses the slots.
void CudaExecutor::ExpandWords(size_t c) {
  const StreamHandle s = in_->ahead_.stream();
  if (c >= 2) in_->used_[c % 2].Await(s);
  const int64_t before = exec::cuda::Launches();
  if (in_->codes_.many[c]) fss::cuda::Expand(in_->codes_.pieces[c], in_->codes_.many[c], s);
  in_->launches_[plan_.plan.instructions.size() + c] = exec::cuda::Launches() - before;
  in_->expanded_[c % 2].Record(s);
}

uint16_t CudaExecutor::ScopeOf(const Instruction& ins) const {
  return node(ins.group ? ins.members.back().node : ins.node).scope;
}

// Returns whether the instructions of a batch are measured one by one, because they belong to several scopes. A single
// kernel with an event behind it takes longer than in a graph.
bool CudaExecutor::Apart(const LaunchBatch& batch) const {
  const std::span all(plan_.plan.instructions);
  const std::span mine = all.subspan(batch.begin, batch.end - batch.begin);
  const auto other = [&](const Instruction& ins) { return ScopeOf(ins) != ScopeOf(mine[0]); };
  return timed_ && std::any_of(mine.begin(), mine.end(), other);
}

// Launches a batch. The first time, and if instructions are measured, it launches them one by one, otherwise as a
// graph.
void CudaExecutor::Launch(size_t b) {
  const LaunchBatch& batch = plan_.batches[b];
  const StreamHandle s = in_->queue_.stream();
  in_->LoadKernels();
  const auto idle = [&](size_t k) { return plan_.Idle(t_, k); };
  const bool apart = Apart(batch);
  if (!in_->runs_[b]++ || apart) {
    while (apart && in_->ends_.size() < batch.end - batch.begin) in_->ends_.emplace_back(true);
    for (size_t k = batch.begin; k < batch.end; ++k) {
      if (!idle(k)) Ask(batch, k, s);
      if (apart) in_->ends_[k - batch.begin].Record(s);
    }
    return;
  }
  auto& graph = in_->graphs_[b];
  if (!graph) {
    exec::cuda::LaunchGraph fresh;                                  // kept only if it is complete
    std::vector<std::vector<int>> pieces(batch.end - batch.begin);  // by instruction: work that precedes later work
    for (size_t k = batch.begin; k < batch.end; ++k) {
      std::vector<int> after;
      for (int a : plan_.plan.instructions[k].after)
        if (size_t(a) >= batch.begin)
          after.insert(after.end(), pieces[size_t(a) - batch.begin].begin(), pieces[size_t(a) - batch.begin].end());
      std::sort(after.begin(), after.end());
      after.erase(std::unique(after.begin(), after.end()), after.end());
      auto& own = pieces[k - batch.begin];
      own = idle(k) ? after : std::vector<int>{fresh.Add(after, [&](StreamHandle to) { Ask(batch, k, to); })};
    }
    fresh.Ready();
    graph.emplace(std::move(fresh));
  }
  graph->Launch(s);
}

// Records an event if the run is measured. A timed event costs some microseconds per step.
void CudaExecutor::Stamp(const exec::cuda::Event& mark, const exec::cuda::DeviceStream& by) const {
  if (timed_) mark.Record(by.stream());
}

// Runs copies to the host and waits for them.
void CudaExecutor::Back(const exec::cuda::DeviceStream& by, const std::function<void()>& downloads) {
  Stamp(in_->back_[0], by);
  downloads();
  Stamp(in_->back_[1], by);
  by.Wait();
  if (timed_) back_ += exec::cuda::Event::Between(in_->back_[0], in_->back_[1]);
}

// Runs work of the Io during a copy. Its time does not count as copying.
void CudaExecutor::Meanwhile(const std::function<void()>& f) {
  const auto begin = Clock::now();
  f();
  meanwhile_ += std::chrono::duration<double>(Clock::now() - begin).count();
}

// Sends the dealer's sections of a finished batch in order, while the next one runs. A few megabytes are sent together.
// Buffers for more are requested only after those before are filled.
void CudaExecutor::GiveSections(const LaunchBatch& batch, Io& io) {
  constexpr size_t kTogether = size_t{4} << 20;
  std::vector<std::span<uint8_t>> rooms;
  size_t bytes = 0, first = 0;
  for (size_t k = 0; k < batch.made.size(); ++k) {
    const int i = batch.made[k];
    rooms.push_back(io.Out(i));
    SUF_CHECK(int64_t(rooms.back().size()) == PackedBytes(node(i)));
    bytes += rooms.back().size();
    if (bytes < kTogether && k + 1 < batch.made.size()) continue;
    Back(in_->copies_, [&] {
      for (size_t j = first; j <= k; ++j) {
        const std::span<uint8_t> to = rooms[j - first];
        Download(to.data(), At(batch.told.at(batch.made[j])) + kEdge, to.size(), in_->copies_.stream());
      }
    });
    io.Done(std::span(batch.made).subspan(first, k + 1 - first));
    bytes = 0;
    first = k + 1;
    rooms.clear();
  }
}

void CudaExecutor::GiveFrame(const DeviceStep& part, Io& io) {
  if (part.sends < 0) return;
  const pfss::Frame& f = s_.frames()[size_t(part.sends)];
  const uint8_t* const from = At(part.sent) + kEdge;
  if (const std::span<uint8_t> all = io.Sending(); int64_t(all.size()) == f.bytes) {
    const auto copy = [&](size_t at) {
      DownloadNow(&all[at], from + at, std::min(kChunk, all.size() - at), in_->queue_.stream());
      if (all.size() > kChunk) in_->copied_[at / kChunk % in_->copied_.size()].Record(in_->queue_.stream());
    };
    const size_t ahead = kChunk * in_->copied_.size();
    const auto chunks = [&] {
      for (size_t at = 0; at < std::min(ahead, all.size()); at += kChunk) copy(at);
      for (size_t at = 0; at < all.size(); at += kChunk) {
        all.size() > kChunk ? in_->copied_[at / kChunk % in_->copied_.size()].Wait() : in_->queue_.Wait();
        if (at + ahead < all.size()) copy(at + ahead);
        Meanwhile([&] { io.Written(std::min(at + kChunk, all.size())); });
      }
      Meanwhile([&] { io.Leave(); });
    };
    return Back(in_->queue_, chunks);
  }
  const auto parts = [&] {
    for (const pfss::FrameField& p : f.parts) {
      const std::span<uint8_t> to = io.Out(p.node);
      Download(to.data(), from + p.at, to.size(), in_->queue_.stream());
    }
  };
  Back(in_->queue_, parts);
  io.Leave();
}

// Returns the bytes that were copied for a batch, by scope.
CudaExecutor::CoreShares CudaExecutor::Copied(const DeviceStep& part, size_t b) const {
  CoreShares out;
  const LaunchBatch& batch = plan_.batches[b];
  const auto frame = [&](int f) {
    if (f >= 0)
      for (const pfss::FrameField& p : s_.frames()[size_t(f)].parts) out[node(p.node).scope] += double(p.bytes);
  };
  if (b == part.begin) frame(part.receives);
  if (b + 1 == part.end) frame(part.sends);
  for (int i : role_ == Role::kDealer ? batch.made : batch.read) out[node(i).scope] += double(PackedBytes(node(i)));
  return out;
}

// Reports the time of a finished batch. If scopes are not measured, the whole time goes to the scope with most kernels.
void CudaExecutor::Report(const DeviceStep& part, size_t b, double all, Io& io) {
  using exec::cuda::Event;
  const LaunchBatch& batch = plan_.batches[b];
  const Chapter& chapter = plan_.chapters[batch.chapter];
  const std::span<const Instruction> instructions(plan_.plan.instructions);
  std::map<uint16_t, Spent> by;
  std::vector<int> nodes;
  // The event before the first kernel. At the beginning of a chapter, kernels wait for words.
  const Event* const first = &in_->time_[b == chapter.begin ? 2 : 1];
  const Event* last = first;
  const bool apart = Apart(batch);
  for (size_t k = batch.begin; k < batch.end; ++k) {
    const Instruction& ins = instructions[k];
    const uint16_t scope = ScopeOf(ins);
    by[scope].launches += in_->launches_[k];
    if (apart) {
      const Event* const end = &in_->ends_[k - batch.begin];
      by[scope].compute += Event::Between(*std::exchange(last, end), *end);
    }
    if (!ins.group) nodes.push_back(ins.node);
    for (const grouping::Member& m : ins.members)
      if (!(m.emits && node(m.node).op == Op::kTell)) nodes.push_back(m.node);
  }
  const auto most =
      std::max_element(by.begin(), by.end(), [](auto& x, auto& y) { return x.second.launches < y.second.launches; });
  CoreShares drawn;
  if (b == chapter.begin)
    for (const auto& [i, room] : chapter.drawn) drawn[node(i).scope] += double(room.bytes);
  if (!drawn.empty()) by[drawn.begin()->first].launches += in_->launches_[instructions.size() + batch.chapter];
  Spent rest{.compute = std::max(1e-9, all)};
  if (timed_) {
    // Divides a time by shares. Without shares it goes to the scope with most kernels.
    const auto divide = [&](double Spent::*what, const CoreShares& shares, double seconds) {
      double sum = 0;
      for (const auto& [scope, share] : shares) sum += share;
      for (const auto& [scope, share] : shares) by[scope].*what += sum > 0 ? seconds * share / sum : 0;
      if (!(sum > 0)) most->second.*what += seconds;
    };
    const double kernels = Event::Between(*first, in_->time_[3]);
    if (!apart) most->second.compute += kernels;
    const double words = first == &in_->time_[2] ? Event::Between(in_->time_[1], *first) : 0;
    // The copies that are hidden neither by the Io's work nor, at the dealer, by the next batch's kernels.
    const double copies = std::clamp(Event::Between(in_->time_[0], in_->time_[1]) + back_ - meanwhile_, 0.0,
                                     std::max(0.0, all - kernels - words));
    divide(&Spent::key, drawn, words);
    divide(&Spent::upload, Copied(part, b), copies);
    rest = {.host = std::max(1e-9, all - kernels - words - copies)};
  }
  io.Took(most->first, rest);  // first, because it includes the Io's wait
  for (const auto& [scope, spent] : by) io.Took(scope, spent);
  io.Done(nodes);
}

// Takes from the host everything that a batch needs except the frame, if possible while the peer works.
void CudaExecutor::Prepare(size_t b, Io& io) {
  const LaunchBatch& batch = plan_.batches[b];
  AwaitSections(batch, io);
  TakeInputs(b, io);
  TakeSections(batch, io);
  prepared_ = b + 1;
}

void CudaExecutor::Run(const Program& program, const Randomness& randomness, Io& io) {
  const grouping::GroupPlan& plan = plan_.plan;
  SUF_CHECK(next_ < plan.programs.size() && program.role == role_ && program.nodes == plan.programs[next_].nodes);
  exec::cuda::Use(device_);
  const StreamHandle s = in_->queue_.stream();
  if (next_ == 0) {
    timed_ = io.Timed();
    OpenKeys(randomness);
    AskForms(io);
    in_->LackKernels();
  }
  const size_t at = next_++;
  const DeviceStep& part = plan_.programs[at];
  const bool before = role_ != Role::kDealer && s_.steps(int(role_))[at].tick < 0;
  auto begin = Clock::now();
  AwaitFrame(part, io);
  if (part.begin == part.end) TakeFrame(part, io);
  for (size_t b = part.begin; b < part.end; ++b) {
    const LaunchBatch& batch = plan_.batches[b];
    const size_t c = batch.chapter;
    const bool last = b + 1 == part.end;
    if (prepared_ <= b) Prepare(b, io);
    if (timed_) in_->hold_.Begin(s);
    Stamp(in_->time_[0], in_->queue_);
    back_ = meanwhile_ = 0;
    if (b == part.begin) TakeFrame(part, io);
    if (burst_ >= 0 && !bursts_[size_t(burst_)].given) bursts_[size_t(burst_)].mark.Await(s);
    Stamp(in_->time_[1], in_->queue_);
    if (timed_) in_->time_[1].Await(in_->ahead_.stream());
    if (b == plan_.chapters[c].begin) {
      if (ours_)
        for (; next_chapter_ <= c; ++next_chapter_) ExpandWords(next_chapter_);
      ours_ ? in_->expanded_[c % 2].Await(s) : FillWords(plan_.chapters[c], randomness);
      Stamp(in_->time_[2], in_->queue_);
    }
    Launch(b);
    Stamp(in_->time_[3], in_->queue_);
    if (timed_) in_->hold_.End();
    if (b + 1 == plan_.chapters[c].end) in_->used_[c % 2].Record(s);
    // While the device works: expand the next chapter's words, unless they are measured apart, and send key sections.
    if (ours_ && !timed_ && b == plan_.chapters[c].begin && c + 1 < plan_.chapters.size() && next_chapter_ == c + 1)
      ExpandWords(next_chapter_++);
    if (role_ == Role::kDealer) {
      if (b > part.begin) GiveSections(plan_.batches[b - 1], io);
      if (last) {
        in_->queue_.Wait();
        GiveSections(batch, io);
      }
    }
    if (last) GiveFrame(part, io);
    // While the peer works: upload key sections.
    TakeAhead(io, before);
    in_->queue_.Wait();
    GiveBack(io);
    const auto end = Clock::now();
    Report(part, b, std::chrono::duration<double>(end - std::exchange(begin, end)).count(), io);
    if (last && role_ != Role::kDealer && b + 1 < plan_.batches.size()) Prepare(b + 1, io);
  }
  for (int i : plan.unread[at]) io.Read(i);
}

std::vector<uint64_t> CudaExecutor::Result(int i) {
  exec::cuda::Use(device_);
  const uint64_t n = count(i);
  std::vector<uint64_t> out(n);
  const MemoryArray x = Value(i);
  const Word mask = ring::Mask(node(i).ring.bits);
  if (x.indirect || x.splat) {  // an input or a constant that is a result
    const DeviceMemory words(8 * n);
    Words(x, n, mask, reinterpret_cast<Word*>(words.data()), in_->queue_.stream());
    Download(out.data(), words.data(), 8 * n, in_->queue_.stream());
    in_->queue_.Wait();
    return out;
  }
  WipedVector<uint8_t> bytes(n * x.bytes);
  Download(bytes.data(), x.data, bytes.size(), in_->queue_.stream());
  in_->queue_.Wait();
  for (uint64_t k = 0; k < n; ++k) out[k] = WordOf({bytes.data(), int(x.bytes), false, 0}, k) & mask;
  return out;
}

}  // namespace suf::gpu::cuda
