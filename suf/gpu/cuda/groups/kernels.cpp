#include "suf/gpu/cuda/groups/kernels.hpp"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>

#include "suf/base/cores.hpp"
#include "suf/base/digest.hpp"
#include "suf/base/file.hpp"
#include "suf/gpu/cuda/groups/printer.hpp"

namespace suf::gpu::cuda {
namespace {

constexpr std::string_view kMagic = "suf kernel 1\n";

// Returns the digest of everything that machine code is made from.
Hash KeyOf(const std::string& text, const std::string& architecture) {
  static const Hash* const headers = [] {
    Sha256 sum;
    for (const auto& [name, header] : Headers()) sum.Add(std::string_view(name)).Add(std::string_view(header));
    return new Hash(sum.Done());
  }();
  return HashOf({AsView(kMagic), *headers, AsView(architecture), AsView(text)});
}

// Returns the code of a file if its digest is right, otherwise nothing.
Bytes Read(const std::string& path, const Hash& key) {
  std::error_code none;
  const auto size = std::filesystem::file_size(path, none);
  if (none || size > size_t{64} << 20) return {};
  try {
    const Fd file = OpenFile(path, O_RDONLY | O_CLOEXEC);
    const Bytes all = ReadSome(file.get(), size, path);
    const size_t head = kMagic.size() + sizeof(Hash);
    if (all.size() <= head || !Equal(View(all).first(kMagic.size()), AsView(kMagic))) return {};
    const View code = View(all).subspan(head);
    if (HashOf({key, code}) != *reinterpret_cast<const Hash*>(&all[kMagic.size()])) return {};
    return {code.begin(), code.end()};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

Bytes Codes::Find(const std::string& text) const {
  const Hash key = KeyOf(text, architecture_);
  return folder_.empty() ? Bytes() : Read(folder_ + "/" + Hex(key) + ".cubin", key);
}

Bytes Codes::Get(const std::string& text) const {
  if (Bytes code = Find(text); !code.empty()) return code;
  if (exec::cuda::CompilerName().empty()) return {};
  const Hash key = KeyOf(text, architecture_);
  Bytes code;
  try {
    code = exec::cuda::Compile(text, Headers(), architecture_);
  } catch (const Error&) {
    return {};
  }
  if (folder_.empty()) return code;
  try {
    Bytes all(kMagic.begin(), kMagic.end());
    Append(&all, HashOf({key, code}));
    Append(&all, code);
    WriteFile(folder_, Hex(key) + ".cubin", all);
  } catch (const Error&) {  // if the folder cannot be written, only the next run loses time
  }
  return code;
}

KernelCache::~KernelCache() {
  stop_ = true;
  if (filler_.joinable()) filler_.join();
}

void KernelCache::Fill(std::vector<std::string> texts) {
  if (filling_.exchange(true)) return;  // the texts are requested again when it has ended
  tried_.insert(texts.begin(), texts.end());
  if (filler_.joinable()) filler_.join();
  filler_ = std::thread([this, texts = std::move(texts)] {
    exec::Pool pool(std::max(1, Cores() / 2));
    pool.For(texts.size(), 1, [&](size_t lo, size_t hi) {
      for (size_t i = lo; i < hi && !stop_; ++i)
        if (codes_.Get(texts[i]).empty()) {
          std::lock_guard l(m_);
          bad_.insert(texts[i]);
        }
    });
    ++filled_;
    filling_ = false;
  });
}

std::vector<const exec::cuda::Module*> KernelCache::Load(const std::vector<std::string>& texts, bool compiles) {
  std::lock_guard l(m_);
  std::vector<std::string> fresh, missing;
  for (const std::string& t : texts)
    if (!modules_.count(t) && std::find(fresh.begin(), fresh.end(), t) == fresh.end()) fresh.push_back(t);
  std::vector<Bytes> codes(fresh.size());
  exec::Default().For(fresh.size(), 1, [&](size_t lo, size_t hi) {
    for (size_t i = lo; i < hi; ++i) codes[i] = waits_ ? codes_.Get(fresh[i]) : codes_.Find(fresh[i]);
  });
  exec::cuda::Use(device_);
  for (size_t i = 0; i < fresh.size(); ++i)
    if (!codes[i].empty())
      modules_[fresh[i]] = std::make_unique<exec::cuda::Module>(codes[i], kKernel);
    else if (waits_ && !exec::cuda::CompilerName().empty())
      bad_.insert(fresh[i]);
    else if (!tried_.count(fresh[i]))
      missing.push_back(fresh[i]);
  if (compiles && !waits_ && !missing.empty() && !exec::cuda::CompilerName().empty()) Fill(std::move(missing));
  std::vector<const exec::cuda::Module*> out;
  for (const std::string& t : texts) {
    const auto it = modules_.find(t);
    out.push_back(it == modules_.end() ? nullptr : it->second.get());
  }
  return out;
}

std::string KernelCache::Lacks(const std::vector<std::string>& texts) {
  std::lock_guard l(m_);
  const bool compiler = !exec::cuda::CompilerName().empty();
  size_t lacks = 0;
  for (const std::string& t : texts) lacks += !modules_.count(t) && (!compiler || bad_.count(t));
  if (!lacks) return "";
  const std::string head = Str("the interpreter runs ", lacks, " of ", texts.size(), " kernels of this run: ");
  if (!compiler)
    return head +
           "this machine has no libnvrtc.so.12 or 13; for full speed install CUDA's run-time compiler, or bring "
           "kernels that were made elsewhere";
  return head + "they do not compile; the result is the same, report it";
}

}  // namespace suf::gpu::cuda
