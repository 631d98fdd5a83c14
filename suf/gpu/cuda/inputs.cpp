#include "suf/gpu/cuda/inputs.hpp"

#include <algorithm>

#include "suf/gpu/cuda/instance.hpp"

namespace suf::gpu::cuda {

using namespace pfss;  // NOLINT: the whole file speaks of traces
using exec::cuda::DeviceMemory;
using exec::cuda::StreamHandle;
using exec::cuda::Upload;

// ---- The cache of a device

DeviceWeightCache::SharedMemory DeviceWeightCache::Get(const std::string& name, const Io::Data& data, size_t count,
                                                       const SharedMemory& own, StreamHandle s,
                                                       std::shared_ptr<const void>* uploaded) {
  std::lock_guard l(m_);
  auto& [version, held] = words_[name];
  if (!held || version != data.version) {
    const size_t bytes = count * size_t(data.bytes);
    const bool ours = held && held == own && held.use_count() == 2 && held->size() == bytes;
    if (!ours) held = std::make_shared<const DeviceMemory>(bytes);
    *uploaded = data.words();
    Upload(held->data(), uploaded->get(), bytes, s);
    version = data.version;
  }
  return held;
}

DeviceWeightCache::OperandLimbs DeviceWeightCache::Limbs(const std::string& name, const Io::Data& data, int depth,
                                                         int columns, int bits, StreamHandle s) {
  std::lock_guard l(m_);
  auto& [version, split] = limbs_[{name, bits}];
  if (!split.planes || version != data.version) {
    const auto form = ring::cuda::LimbsOf(data.bytes, data.is_signed, true, columns, depth, 1, bits);
    const DeviceMemory words(size_t(depth) * size_t(columns) * size_t(data.bytes));
    auto planes = std::make_shared<DeviceMemory>(form.bytes());
    const std::shared_ptr<const void> given = data.words();
    Upload(words.data(), given.get(), words.size(), s);
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

// ---- The inputs of a plan

InputForm FirstForm(const Trace& t, int i) {
  // Inputs that come with a text are its token ids, whole numbers of 32 bits. Other inputs have any form; the host
  // states it in time.
  return t.node(i).attrs[0] < 0 ? InputForm{8, false} : InputForm{4, true};
}

bool ResidentInputs::HasWeight(int product, const OperandLimbs& weight) const {
  const auto it = weights_.find(product);
  return it != weights_.end() && it->second.planes == weight.planes;
}

// ---- The inputs of a run

InputFeed::InputFeed(const Schedule& s, Role role, Instance& instance, DeviceWeightCache& weights)
    : s_(s), role_(role), in_(instance), weights_(weights) {}

bool InputFeed::IsInput(const Instruction& ins) const {
  return !ins.group && ins.same < 0 && node(ins.node).op == Op::kInput;
}

// Returns whether the form differs from that of the codes.
bool InputFeed::RecordForm(int i, const Io::Data& data) { return in_.memory.SetForm(i, {data.bytes, data.is_signed}); }

void InputFeed::TakeForms(Io& io) {
  bool changed = false;
  for (const auto& [i, form] : in_.memory.base().forms)
    if (node(i).attrs[0] < 0) changed |= RecordForm(i, io.Input(i));
  if (changed) in_.MakeCodes(s_, role_);
}

void InputFeed::Take(size_t b, Io& io) {
  const LaunchBatch& batch = in_.plan->batches[b];
  const std::span all(in_.plan->plan.instructions);
  const std::span instructions = all.subspan(batch.begin, batch.end - batch.begin);
  bool changed = false;
  for (const Instruction& ins : instructions)
    if (IsInput(ins)) changed |= RecordForm(ins.node, data_[ins.node] = io.Input(ins.node));
  if (changed) in_.MakeCodes(s_, role_);
  for (const Instruction& ins : instructions)
    if (!ins.group && ins.same < 0 && grouping::ReadsWeight(s_.trace(), ins.node)) TakeWeight(b, ins.node);
  for (const Instruction& ins : instructions)
    if (IsInput(ins) && in_.inputs.IsReadAsWords(ins.node)) TakeWords(ins.node);
}

// Takes the limbs of a product's right operand. The graph of batch b is made again if they have moved.
void InputFeed::TakeWeight(size_t b, int product) {
  const int i = in_.plan->Root(node(product).args[1]);
  const Shape& shape = node(i).shape;
  const auto weight = weights_.Limbs(s_.trace().name(node(i).label), data_.at(i), int(shape[0]), int(shape[1]),
                                     std::max(1, s_.width(product)), in_.streams.work.stream());
  if (!in_.inputs.HasWeight(product, weight)) in_.graphs.Reset(b);
  in_.inputs.SetWeight(product, weight);
}

// Takes the words of an input, and uploads their address if they have moved. Graphs read it from the same place.
void InputFeed::TakeWords(int input) {
  const StreamHandle s = in_.streams.work.stream();
  auto& words = in_.inputs.Words(input);
  const uint8_t* const was = words ? words->data() : nullptr;
  words = weights_.Get(s_.trace().name(node(input).label), data_.at(input), size_t(Size(node(input).shape)), words, s,
                       &uploaded_.emplace_back());
  const uint8_t* const at = words->data();
  if (at != was) Upload(const_cast<uint8_t*>(in_.memory.Value(s_, input).data), &at, sizeof at, s);
}

}  // namespace suf::gpu::cuda
