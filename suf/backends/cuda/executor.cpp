#include "suf/backends/cuda/executor.hpp"

#include <algorithm>
#include <chrono>

#include "suf/backends/cuda/bulk.hpp"
#include "suf/backends/internal/registers.hpp"
#include "suf/backends/randomness.hpp"
#include "suf/ring/words.hpp"

namespace suf::backends::cuda {

using namespace pfss;  // NOLINT: the whole file speaks of traces
using exec::cuda::Download;
using exec::cuda::Memory;
using exec::cuda::Upload;
using Clock = std::chrono::steady_clock;

CudaExecutor::CudaExecutor(const Schedule& s, Role role, int device, Weights& weights,
                           std::unique_ptr<Instance> instance, Done done)
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
  } catch (const Error&) {  // the device is gone, and its memory with it
  }
}

void CudaExecutor::OpenKeys(const Randomness& randomness) {
  const auto tree = randomness.TreeKey();
  Upload(in_->fixed_.data() + in_->tree_at_, tree.data(), tree.size(), in_->queue_.stream());
  const auto* streams = dynamic_cast<const Streams*>(&randomness);
  ours_ = streams != nullptr;
  if (ours_) {
    const auto all = Sections(t_, plan_);
    Wiped<fss::Prg::Keys> keys;
    for (uint32_t p : {0u, 1u}) {
      std::vector<uint32_t> sections;
      for (const auto& [party, section] : all)
        if (party == p) sections.push_back(section);
      if (sections.empty()) continue;
      const Wiped<fss::Prg::Keys> of = streams->KeysOf(int(p), sections);
      keys.insert(keys.end(), of.begin(), of.end());
    }
    Upload(in_->base_.keys, keys.data(), keys.size() * sizeof(fss::Prg::Keys), in_->queue_.stream());
    in_->queue_.Wait();
  }
}

// Note: an input's form; whether it is another one than the codes have.
bool CudaExecutor::Note(int i, const Io::Data& data) {
  const InputForm now{data.bytes, data.is_signed};
  return !(std::exchange(in_->base_.forms.at(i), now) == now);
}

// AskForms: how all inputs lie that are there before the inference, so that codes and kernels are made once.
void CudaExecutor::AskForms(Io& io) {
  bool changed = false;
  for (const auto& [i, form] : in_->base_.forms)
    if (node(i).attrs[0] < 0) changed |= Note(i, io.Input(i));
  if (changed) in_->Assembled(s_, role_);
}

// TakeInputs: those that a batch's instructions name, and the limbs of its weights.
void CudaExecutor::TakeInputs(size_t b, Io& io) {
  const Batch& batch = plan_.batches[b];
  const Stream s = in_->queue_.stream();
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
    held = weights_.Get(t_.name(node(ins.node).label), data_.at(ins.node), count(ins.node), held, s);
    const uint8_t* const at = held->data();
    Upload(const_cast<uint8_t*>(Value(ins.node).data), &at, sizeof at, s);
  }
}

// kChunk: bytes of a frame that are copied at once, while those after them come, or those before them leave.
constexpr size_t kChunk = size_t{1} << 18;

void CudaExecutor::TakeFrame(const Part& part, Io& io) {
  if (part.receives < 0) return;
  const pfss::Frame& f = s_.frames()[size_t(part.receives)];
  uint8_t* const to = At(part.received) + kEdge;
  if (const View all = io.Received(); int64_t(all.size()) == f.bytes) {
    for (size_t at = 0; at < all.size(); at += kChunk) {
      const View chunk = all.subspan(at, std::min(kChunk, all.size() - at));
      io.Await(at + chunk.size());
      Upload(to + at, chunk.data(), chunk.size(), in_->queue_.stream());
    }
    return;
  }
  for (const pfss::Part& p : f.parts) {
    const View v = io.In(p.node);
    Upload(to + p.at, v.data(), v.size(), in_->queue_.stream());
  }
}

// UploadSection: into the burst that is open. What nobody reads is given back.
void CudaExecutor::UploadSection(int i, Io& io) {
  const auto room = plan_.keys.find(i);
  if (room == plan_.keys.end() || burst_of_[size_t(i)] >= 0) return;
  const View v = io.In(i);
  SUF_CHECK(int64_t(v.size()) == PackedBytes(node(i)));
  Upload(At(room->second) + kEdge, v.data(), v.size(), in_->copies_.stream());
  burst_of_[size_t(i)] = int(bursts_.size()) - 1;
  bursts_.back().nodes.push_back(i);
}

// TakeSections: those that a batch reads; steps wait for their copies, the host does not.
void CudaExecutor::TakeSections(const Batch& batch, Io& io) {
  int last = -1;
  bool opened = false;
  for (int i : batch.read) {
    if (burst_of_[size_t(i)] < 0) {
      if (!std::exchange(opened, true)) bursts_.emplace_back();
      UploadSection(i, io);
    }
    last = std::max(last, burst_of_[size_t(i)]);
  }
  if (opened) bursts_.back().mark.Record(in_->copies_.stream());
  if (last >= 0 && !bursts_[size_t(last)].given) bursts_[size_t(last)].mark.Await(in_->queue_.stream());
}

// TakeAhead: sections that are here, for the steps to come: some, or all before the inference.
void CudaExecutor::TakeAhead(Io& io, bool all) {
  if (role_ == Role::kDealer) return;
  constexpr size_t kAhead = size_t{8} << 20;  // bytes a step: what the copy engine moves while a step runs
  const std::vector<pfss::Part>& order = s_.key(int(role_));
  if (next_key_ == order.size()) return;
  bursts_.emplace_back();
  for (size_t bytes = 0; next_key_ < order.size() && (all || bytes < kAhead); ++next_key_) {
    const int i = order[next_key_].node;
    if (!plan_.keys.count(i) || burst_of_[size_t(i)] >= 0) continue;
    if (!io.Ready(i)) break;
    UploadSection(i, io), bytes += size_t(order[next_key_].bytes);
  }
  bursts_.back().mark.Record(in_->copies_.stream());
  if (all) in_->copies_.Wait();
}

// GiveBack: the host's memory of sections that are on the device.
void CudaExecutor::GiveBack(Io& io) {
  for (Burst& b : bursts_) {
    if (b.given) continue;
    if (!b.mark.Passed()) break;
    for (int i : b.nodes) io.Read(i);
    b.given = true;
  }
}

// FillWords: of a randomness that is not ours: the host draws.
void CudaExecutor::FillWords(const Chapter& c, const Randomness& randomness) {
  for (const auto& [i, room] : c.drawn) {
    Wiped<uint8_t> words((room.bytes + 15) / 16 * 16);
    randomness.Open(int(node(i).attrs[0]), int(node(i).attrs[1]))->Fill(0, std::span(words).first(room.bytes));
    Upload(At(room), words.data(), room.bytes, in_->queue_.stream());
    in_->queue_.Wait();
  }
}

// ExpandWords: of a chapter, while the one before it runs; the one before that has left its room.
void CudaExecutor::ExpandWords(size_t c) {
  const Stream s = in_->ahead_.stream();
  if (c >= 2) in_->used_[c % 2].Await(s);
  if (in_->codes_.many[c]) fss::cuda::Expand(in_->codes_.pieces[c], in_->codes_.many[c], s);
  in_->expanded_[c % 2].Record(s);
}

// Launch: a batch: asked for piece by piece the first time, as a graph afterwards.
void CudaExecutor::Launch(size_t b) {
  const Batch& batch = plan_.batches[b];
  const Stream s = in_->queue_.stream();
  in_->LoadKernels();
  const auto idle = [&](size_t k) { return plan_.Idle(t_, k); };
  if (!in_->runs_[b]++) {
    for (size_t k = batch.begin; k < batch.end; ++k)
      if (!idle(k)) Ask(batch, k, s);
    return;
  }
  auto& graph = in_->graphs_[b];
  if (!graph) {
    exec::cuda::Graph fresh;                                        // kept only whole
    std::vector<std::vector<int>> pieces(batch.end - batch.begin);  // by instruction: what those after it wait for
    for (size_t k = batch.begin; k < batch.end; ++k) {
      std::vector<int> after;
      for (int a : plan_.plan.instructions[k].after)
        if (size_t(a) >= batch.begin)
          after.insert(after.end(), pieces[size_t(a) - batch.begin].begin(), pieces[size_t(a) - batch.begin].end());
      std::sort(after.begin(), after.end());
      after.erase(std::unique(after.begin(), after.end()), after.end());
      auto& own = pieces[k - batch.begin];
      own = idle(k) ? after : std::vector<int>{fresh.Add(after, [&](Stream to) { Ask(batch, k, to); })};
    }
    fresh.Ready();
    graph.emplace(std::move(fresh));
  }
  graph->Launch(s);
}

// GiveSections: of the dealer, in order. A few megabytes leave together: rooms for more are asked for only when those
// before are filled.
void CudaExecutor::GiveSections(const Batch& batch, Io& io) {
  constexpr size_t kTogether = size_t{4} << 20;
  size_t bytes = 0, first = 0;
  for (size_t k = 0; k < batch.made.size(); ++k) {
    const int i = batch.made[k];
    const std::span<uint8_t> to = io.Out(i);
    SUF_CHECK(int64_t(to.size()) == PackedBytes(node(i)));
    Download(to.data(), At(batch.told.at(i)) + kEdge, to.size(), in_->queue_.stream());
    bytes += to.size();
    if (bytes < kTogether && k + 1 < batch.made.size()) continue;
    in_->queue_.Wait();
    io.Done(std::span(batch.made).subspan(first, k + 1 - first));
    bytes = 0, first = k + 1;
  }
}

void CudaExecutor::GiveFrame(const Part& part, Io& io) {
  if (part.sends < 0) return;
  const pfss::Frame& f = s_.frames()[size_t(part.sends)];
  const uint8_t* const from = At(part.sent) + kEdge;
  if (const std::span<uint8_t> all = io.Sending(); int64_t(all.size()) == f.bytes) {
    const auto copy = [&](size_t at) {
      Download(&all[at], from + at, std::min(kChunk, all.size() - at), in_->queue_.stream());
      in_->copied_[at / kChunk % in_->copied_.size()].Record(in_->queue_.stream());
    };
    const size_t ahead = kChunk * in_->copied_.size();
    for (size_t at = 0; at < std::min(ahead, all.size()); at += kChunk) copy(at);
    for (size_t at = 0; at < all.size(); at += kChunk) {
      in_->copied_[at / kChunk % in_->copied_.size()].Wait();
      if (at + ahead < all.size()) copy(at + ahead);
      io.Written(std::min(at + kChunk, all.size()));
    }
    return;
  }
  for (const pfss::Part& p : f.parts) {
    const std::span<uint8_t> to = io.Out(p.node);
    Download(to.data(), from + p.at, to.size(), in_->queue_.stream());
  }
  in_->queue_.Wait();
}

// Report: what a batch took, by scope as many instructions as it has.
void CudaExecutor::Report(const Batch& batch, const Spent& spent, Io& io) {
  std::map<uint16_t, int> many;
  const std::span<const Instruction> all(plan_.plan.instructions);
  std::vector<int> nodes;
  for (const Instruction& ins : all.subspan(batch.begin, batch.end - batch.begin)) {
    ++many[node(ins.group ? ins.members[0].node : ins.node).scope];
    if (!ins.group) nodes.push_back(ins.node);
    for (const lower::Member& m : ins.members)
      if (!(m.emits && node(m.node).op == Op::kTell)) nodes.push_back(m.node);
  }
  for (const auto& [scope, n] : many) {
    const double part = n / double(batch.end - batch.begin);
    io.Took(scope, {.compute = spent.compute * part, .key = spent.key * part, .upload = spent.upload * part});
  }
  io.Done(nodes);
}

void CudaExecutor::Run(const Program& program, const Randomness& randomness, Io& io) {
  const lower::Plan& plan = plan_.plan;
  SUF_CHECK(next_ < plan.programs.size() && program.role == role_ && program.nodes == plan.programs[next_].nodes);
  exec::cuda::Use(device_);
  const Stream s = in_->queue_.stream();
  if (next_ == 0) OpenKeys(randomness), AskForms(io), in_->LackKernels();
  const size_t at = next_++;
  const Part& part = plan_.programs[at];
  const bool before = role_ != Role::kDealer && (s_.steps(int(role_))[at].tick < 0 ||
                                                 (part.receives >= 0 && s_.frames()[size_t(part.receives)].tick < 0));
  const auto begin = Clock::now();
  in_->time_[0].Record(s);
  TakeFrame(part, io);
  double kernels = 0, copies = 0;
  for (size_t b = part.begin; b < part.end; ++b) {
    const Batch& batch = plan_.batches[b];
    const size_t c = batch.chapter;
    TakeInputs(b, io);
    TakeSections(batch, io);
    if (ours_) {
      for (; next_chapter_ <= c; ++next_chapter_) ExpandWords(next_chapter_);
      if (b == plan_.chapters[c].begin) in_->expanded_[c % 2].Await(s);
    } else if (b == plan_.chapters[c].begin) {
      FillWords(plan_.chapters[c], randomness);
    }
    in_->time_[1].Record(s);
    Launch(b);
    in_->time_[2].Record(s);
    if (b + 1 == plan_.chapters[c].end) in_->used_[c % 2].Record(s);
    // while the device works: the next chapter's words, and keys of coming steps
    if (ours_ && b == plan_.chapters[c].begin && c + 1 < plan_.chapters.size() && next_chapter_ == c + 1)
      ExpandWords(next_chapter_++);
    if (role_ == Role::kDealer) GiveSections(batch, io);
    if (b + 1 == part.end) GiveFrame(part, io);
    in_->time_[3].Record(s);
    TakeAhead(io, before);
    in_->queue_.Wait();
    kernels += exec::cuda::Mark::Between(in_->time_[1], in_->time_[2]);
    copies += exec::cuda::Mark::Between(in_->time_[0], in_->time_[1]) +
              exec::cuda::Mark::Between(in_->time_[2], in_->time_[3]);
    in_->time_[0].Record(s);
    GiveBack(io);
  }
  const double all = std::chrono::duration<double>(Clock::now() - begin).count(),
               batches = double(part.end - part.begin);
  const Spent share{
      .compute = kernels / batches, .key = std::max(0., all - kernels - copies) / batches, .upload = copies / batches};
  for (size_t b = part.begin; b < part.end; ++b) Report(plan_.batches[b], share, io);
  for (int i : plan.unread[at]) io.Read(i);
}

std::vector<uint64_t> CudaExecutor::Result(int i) {
  exec::cuda::Use(device_);
  const uint64_t n = count(i);
  std::vector<uint64_t> out(n);
  const Array x = Value(i);
  const Word mask = ring::Mask(node(i).ring.bits);
  if (x.indirect || x.splat) {  // an input or a constant that is a result
    const Memory words(8 * n);
    Words(x, n, mask, reinterpret_cast<Word*>(words.data()), in_->queue_.stream());
    Download(out.data(), words.data(), 8 * n, in_->queue_.stream());
    in_->queue_.Wait();
    return out;
  }
  std::vector<uint8_t> bytes(n * x.bytes);
  Download(bytes.data(), x.data, bytes.size(), in_->queue_.stream());
  in_->queue_.Wait();
  for (uint64_t k = 0; k < n; ++k) out[k] = WordOf({bytes.data(), int(x.bytes), false, 0}, k) & mask;
  return out;
}

}  // namespace suf::backends::cuda
