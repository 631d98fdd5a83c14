// Data that stays between runs: inputs on the device, and a plan's memory with its codes.
#include "suf/gpu/cuda/executor.hpp"
#include "suf/gpu/cuda/printer.hpp"

namespace suf::gpu::cuda {

using namespace pfss;  // NOLINT: the whole file speaks of traces
using exec::cuda::DeviceMemory;
using exec::cuda::Upload;

// ---- Inputs that stay

DeviceWeightCache::SharedMemory DeviceWeightCache::Get(const std::string& name, const Io::Data& data, size_t count,
                                                       const SharedMemory& own, exec::cuda::StreamHandle s) {
  std::lock_guard l(m_);
  auto& [version, held] = words_[name];
  if (!held || version != data.version) {
    const size_t bytes = count * size_t(data.bytes);
    const bool ours = held && held == own && held.use_count() == 2 && held->size() == bytes;
    if (!ours) held = std::make_shared<const DeviceMemory>(bytes);
    Upload(held->data(), data.words, bytes, s);
    version = data.version;
  }
  return held;
}

DeviceWeightCache::OperandLimbs DeviceWeightCache::Limbs(const std::string& name, const Io::Data& data, int depth,
                                                         int columns, int bits, exec::cuda::StreamHandle s) {
  std::lock_guard l(m_);
  auto& [version, split] = limbs_[{name, bits}];
  if (!split.planes || version != data.version) {
    const auto form = ring::cuda::LimbsOf(data.bytes, data.is_signed, true, columns, depth, 1, bits);
    const DeviceMemory words(size_t(depth) * size_t(columns) * size_t(data.bytes));
    auto planes = std::make_shared<DeviceMemory>(form.bytes());
    Upload(words.data(), data.words, words.size(), s);
    ring::cuda::Split({form, words.data(), data.bytes, data.is_signed, false, true, planes->data()}, {}, {}, s);
    exec::cuda::Finish(s);
    version = data.version;
    split = {form, std::move(planes)};
  }
  return split;
}

int64_t DeviceWeightCache::bytes() const {
  std::lock_guard l(m_);
  int64_t all = 0;
  for (const auto& [name, held] : words_) all += held.second ? int64_t(held.second->size()) : 0;
  for (const auto& [name, held] : limbs_) all += held.second.planes ? int64_t(held.second.planes->size()) : 0;
  return all;
}

// ---- A plan's memory

InputForm FirstForm(const Trace& t, int i) {
  // Inputs that come with a text are its token ids, whole numbers of 32 bits. Other inputs have any form; the host
  // states it in time.
  return t.node(i).attrs[0] < 0 ? InputForm{8, false} : InputForm{4, true};
}

std::set<int> ReadAsWords(const Trace& t, const DevicePlan& plan) {
  std::set<int> out;
  for (const grouping::Instruction& ins : plan.plan.instructions)
    grouping::Reads(t, ins, [&](int a) {
      const bool limbs = !ins.group && ins.same < 0 && ReadsWeight(t, ins.node) && t.node(ins.node).args[0] != a;
      if (!limbs) out.insert(plan.Root(a));
    });
  return out;
}

Instance::Instance(const Schedule& s, Role role, std::shared_ptr<const DevicePlan> plan, KernelCache* kernels,
                   bool worth)
    : plan_(std::move(plan)),
      kernels_(kernels),
      worth_(worth),
      printed_(plan_->plan.instructions.size()),
      slab_(plan_->slab),
      graphs_(plan_->batches.size()),
      runs_(plan_->batches.size()),
      launches_(plan_->plan.instructions.size() + plan_->chapters.size()) {
  const Trace& t = s.trace();
  for (int i : Inputs(t, *plan_)) base_.forms[i] = FirstForm(t, i);
  words_ = ReadAsWords(t, *plan_);
  keys_at_ = 8 * base_.forms.size();
  tree_at_ = (keys_at_ + Sections(t, *plan_).size() * sizeof(fss::Prg::SectionKeys) + 15) / 16 * 16;
  fixed_ = DeviceMemory(tree_at_ + 16);
  base_.slab = slab_.data();
  base_.inputs = fixed_.data();
  base_.keys = fixed_.data() + keys_at_;
  ClearEdges();
  code_ = DeviceMemory(Assemble(s, role, *plan_, base_).bytes.size());
  base_.codes = code_.data();
  Assembled(s, role);
}

// Clears the edges of packed strings. Kernels read and drop them, and so never read uninitialized memory.
void Instance::ClearEdges() {
  const auto clear = [&](const Room& r) {
    if (!r.bytes) return;
    for (size_t at : {r.at, r.at + r.bytes - kEdge}) exec::cuda::Set(slab_.data() + at, 0, kEdge, queue_.stream());
  };
  for (const auto& [node, room] : plan_->keys) clear(room);
  for (const DeviceStep& part : plan_->programs) {
    clear(part.received);
    clear(part.sent);
  }
  for (const LaunchBatch& batch : plan_->batches)
    for (const auto& [node, room] : batch.told) clear(room);
}

void Instance::Assembled(const Schedule& s, Role role) {
  codes_ = Assemble(s, role, *plan_, base_);
  Upload(code_.data(), codes_.bytes.data(), codes_.bytes.size(), queue_.stream());
  queue_.Wait();
  for (auto& g : graphs_) g.reset();
  stale_ = kernels_ != nullptr;
}

void Instance::LoadKernels() {
  if (!std::exchange(stale_, false)) return;
  std::vector<std::string> texts;
  std::vector<size_t> of;
  for (size_t k = 0; k < printed_.size(); ++k) {
    if (!codes_.groups[k]) continue;
    PrintedKernel p = Print(codes_, base_, k);
    if (p.params.size() > kMostParams) continue;
    printed_[k].params = std::move(p.params);
    texts.push_back(std::move(p.text));
    of.push_back(k);
  }
  filled_ = kernels_->filled();
  const auto modules = kernels_->Load(texts, worth_);
  lacks_ = false;
  why_not_ = [this, texts] { return kernels_->Lacks(texts); };
  for (size_t i = 0; i < of.size(); ++i) {
    printed_[of[i]].module = modules[i];
    lacks_ |= !modules[i];
  }
  for (auto& g : graphs_) g.reset();
}

std::string Instance::Lacks() const { return worth_ && lacks_ ? why_not_() : ""; }

void Instance::LackKernels() {
  if (lacks_ && kernels_->filled() > filled_) stale_ = true;
}

void Instance::Wipe() {
  ahead_.Wait();
  copies_.Wait();
  exec::cuda::Set(slab_.data(), 0, slab_.size(), queue_.stream());
  exec::cuda::Set(fixed_.data() + keys_at_, 0, fixed_.size() - keys_at_, queue_.stream());  // not inputs' addresses
  queue_.Wait();
}

}  // namespace suf::gpu::cuda
