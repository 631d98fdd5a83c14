#include "suf/cpu/tensors.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "suf/grouping/element.hpp"
#include "suf/ring/modular.hpp"

namespace suf::cpu {

using namespace pfss;  // NOLINT: the whole file speaks of traces

namespace {

constexpr size_t kSlack = 256;  // kernels may read, never write, this far beyond the end

// Returns element i of a tensor, extended to 64 bits.
uint64_t WordIn(const PackedTensor& v, size_t i) { return WordOf(v.at(i), v.element, v.is_signed); }

std::shared_ptr<const uint8_t> BytesOf(const std::shared_ptr<const void>& words) {
  return std::static_pointer_cast<const uint8_t>(words);
}

}  // namespace

Arena::~Arena() {
  for (auto& [bytes, block] : idle_) std::free(block.p);
}

std::shared_ptr<uint8_t> Arena::Take(size_t bytes) {
  size_t size = (bytes + kSlack + 4095) / 4096 * 4096;
  uint8_t* p = nullptr;
  {
    std::lock_guard l(m_);
    // Takes the best fit that wastes less than half.
    if (auto it = idle_.lower_bound(size); it != idle_.end() && it->first <= 2 * size) {
      size = it->first;
      p = it->second.p;
      idle_.erase(it);
    }
  }
  if (!p) p = static_cast<uint8_t*>(std::aligned_alloc(4096, size));
  if (!p)
    Fail(Cause::kResource, "no memory for a tensor of ", bytes,
         " bytes; bring fewer tokens or values at once, or free memory");
  return {p, [this, size](uint8_t* q) {
            std::lock_guard l(m_);
            idle_.emplace(size, Block{q, true});
          }};
}

void Arena::WipeIdle() {
  std::unique_lock l(m_);
  for (;;) {
    const auto at = std::find_if(idle_.begin(), idle_.end(), [](auto& b) { return b.second.used; });
    if (at == idle_.end()) return;
    // taken out meanwhile, so that other runs do not wait for the lock
    auto block = idle_.extract(at);
    l.unlock();
    Wipe(block.mapped().p, block.key());
    block.mapped().used = false;
    l.lock();
    idle_.insert(std::move(block));
  }
}

Tensors::Tensors(const Schedule& s, const StripLoops& loops, exec::Pool& pool, Arena& arena)
    : s_(s), t_(s.trace()), loops_(loops), pool_(pool), arena_(arena), values_(t_.nodes().size()) {
  counts_.reserve(values_.size());
  elements_.reserve(values_.size());
  for (int i = 0; i < int(values_.size()); ++i) {
    counts_.push_back(size_t(Size(node(i).shape)));
    elements_.push_back(grouping::Element(s, i));
  }
}

Tensors::~Tensors() {
  values_.clear();
  arena_.WipeIdle();
}

std::shared_ptr<uint8_t> Tensors::Make(int i) {
  auto p = arena_.Take(count(i) * size_t(element(i)));
  Put(i, {p, element(i)});
  return p;
}

void Tensors::PutInput(int i, const Io::Data& data, bool unread) {
  if (unread) unread_[i] = data.words;
  Put(i, {unread ? nullptr : BytesOf(data.words()), data.bytes, false, data.is_signed, data.version});
}

PackedTensor Tensors::Readable(int i) const {
  PackedTensor v = of(i);
  if (const auto input = unread_.find(i); input != unread_.end()) v.data = BytesOf(input->second());
  return v;
}

void Tensors::Widen(const PackedTensor& v, size_t lo, size_t n, int element, void* to) const {
  const auto& move = v.is_signed ? loops_.extend : loops_.move;
  move[Code(v.element)][Code(element)](v.at(lo), n, to);
}

template <class T>
std::shared_ptr<const T> Tensors::Words(int a, bool canonical) const {
  const PackedTensor v = Readable(a);
  SUF_CHECK(v.data && v.element <= 8);
  size_t n = count(a);
  int bits = node(a).ring.bits;
  bool reduced =
      !canonical || node(a).ring.kind == Ring::kXor || bits >= 8 * (v.is_signed ? int(sizeof(T)) : v.element);
  if (v.element == int(sizeof(T)) && !v.splat && reduced) return {v.data, As<T>(v.data.get())};
  std::shared_ptr<uint8_t> p = arena_.Take(n * sizeof(T));
  pool_.For(n, kGrain, [&](size_t lo, size_t hi) {
    uint8_t* const part = p.get() + lo * sizeof(T);
    if (v.splat)
      loops_.splat[Code(sizeof(T))](WordIn(v, 0), hi - lo, part);
    else
      Widen(v, lo, hi - lo, int(sizeof(T)), part);
    if (!reduced) loops_.shift[Code(sizeof(T))][1](part, 0, ring::Mask(bits), hi - lo, part);
  });
  return {p, As<T>(p.get())};
}
template std::shared_ptr<const uint8_t> Tensors::Words(int, bool) const;
template std::shared_ptr<const uint16_t> Tensors::Words(int, bool) const;
template std::shared_ptr<const uint32_t> Tensors::Words(int, bool) const;
template std::shared_ptr<const uint64_t> Tensors::Words(int, bool) const;

std::shared_ptr<const uint8_t> Tensors::Raw(int a, int element) const {
  const PackedTensor& v = of(a);
  if (v.element == element && !v.splat) return v.data;
  std::shared_ptr<const uint8_t> out;
  By(element, [&](auto zero) {
    auto w = Words<decltype(zero)>(a, false);
    out = {w, reinterpret_cast<const uint8_t*>(w.get())};
  });
  return out;
}

void Tensors::Load(const grouping::IndexMap& map, size_t lo, size_t n, int element, void* to) const {
  const int dst = Code(element);
  auto* out = static_cast<uint8_t*>(to);
  for (size_t done = 0, take; done < n; done += take, out += take * size_t(element)) {
    const grouping::ElementRun run = grouping::RunAt(map, int64_t(lo + done));
    take = std::min(n - done, size_t(run.many));
    const PackedTensor& v = of(run.node);
    SUF_CHECK(v.data && (element > 8 || v.element <= 8));
    if (element > 8) {
      SUF_CHECK(v.element == element && !v.splat);
      const size_t bytes = size_t(element);
      if (run.stride == 1) {
        std::memcpy(out, v.at(size_t(run.at)), take * bytes);
      } else {
        for (size_t j = 0; j < take; ++j)
          std::memcpy(out + j * bytes, v.at(size_t(run.at + int64_t(j) * run.stride)), bytes);
      }
    } else if (v.splat || run.stride == 0) {
      loops_.splat[dst](WordIn(v, size_t(run.at)), take, out);
    } else if (run.stride == 1) {
      Widen(v, size_t(run.at), take, element, out);
    } else if (v.is_signed) {
      for (size_t j = 0; j < take; ++j) {
        const uint64_t word = WordIn(v, size_t(run.at + int64_t(j) * run.stride));
        std::memcpy(out + j * size_t(element), &word, size_t(element));
      }
    } else {
      loops_.gather[Code(v.element)][dst](v.at(size_t(run.at)), size_t(run.stride), take, out);
    }
  }
}

std::vector<uint64_t> Tensors::Result(int i) const {
  std::vector<uint64_t> out(count(i));
  const PackedTensor v = Readable(i);
  SUF_CHECK(v.data && v.element <= 8);
  const uint64_t mask = ring::Mask(node(i).ring.bits);
  pool_.For(out.size(), kGrain, [&](size_t lo, size_t hi) {
    uint64_t* const part = &out[lo];
    if (v.splat)
      loops_.splat[3](WordIn(v, 0), hi - lo, part);
    else
      Widen(v, lo, hi - lo, 8, part);
    loops_.shift[3][1](part, 0, mask, hi - lo, part);
  });
  return out;
}

}  // namespace suf::cpu
