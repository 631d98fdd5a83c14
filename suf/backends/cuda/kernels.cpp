#include "suf/backends/cuda/kernels.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "suf/backends/cuda/printer.hpp"
#include "suf/base/digest.hpp"
#include "suf/base/file.hpp"

namespace suf::backends::cuda {
namespace {

constexpr std::string_view kMagic = "suf kernel 1\n";

// KeyOf: all that machine code is made of.
Hash KeyOf(const std::string& text, const std::string& architecture) {
  static const Hash* const headers = [] {
    Sha256 sum;
    for (const auto& [name, header] : Headers()) sum.Add(std::string_view(name)).Add(std::string_view(header));
    return new Hash(sum.Done());
  }();
  return HashOf({AsView(kMagic), *headers, AsView(architecture), AsView(text)});
}

// Read: the code of a file that is what it says; else nothing.
Bytes Read(const std::string& path, const Hash& key) {
  std::error_code none;
  const auto size = std::filesystem::file_size(path, none);
  if (none || size > size_t{64} << 20) return {};
  try {
    const Fd file = OpenFile(path, O_RDONLY | O_CLOEXEC);
    const Bytes all = ReadSome(file.get(), size, path);
    const size_t head = kMagic.size() + sizeof(Hash);
    if (all.size() <= head) return {};
    const View code = View(all).subspan(head);
    if (HashOf({key, code}) != *reinterpret_cast<const Hash*>(&all[kMagic.size()])) return {};
    return {code.begin(), code.end()};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

Bytes Codes::Get(const std::string& text) const {
  const Hash key = KeyOf(text, architecture_);
  const std::string name = Hex(key) + ".cubin";
  if (!folder_.empty())
    if (Bytes code = Read(folder_ + "/" + name, key); !code.empty()) return code;
  if (exec::cuda::CompilerName().empty()) return {};
  Bytes code;
  try {
    code = exec::cuda::Compile(text, Headers(), architecture_);
  } catch (const Error&) {
    return {};
  }
  if (folder_.empty()) return code;
  try {
    Bytes all(kMagic.begin(), kMagic.end());
    Append(&all, HashOf({key, code})), Append(&all, code);
    WriteFile(folder_, name, all);
  } catch (const Error&) {  // a folder that takes nothing costs the next run its time
  }
  return code;
}

std::string KernelFolder() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  std::filesystem::path base = cache ? cache : "";
  if (!base.is_absolute()) base = home && *home ? std::filesystem::path(home) / ".cache" : "";
  if (base.empty()) return "";
  std::error_code error;
  std::filesystem::create_directories(base / "suf" / "kernels", error);
  if (!error) std::filesystem::permissions(base / "suf" / "kernels", std::filesystem::perms::owner_all, error);
  return error ? "" : (base / "suf" / "kernels").string();
}

std::vector<const exec::cuda::Module*> Kernels::Load(const std::vector<std::string>& texts, int device) {
  std::lock_guard l(m_);
  std::vector<std::string> fresh;
  for (const std::string& t : texts)
    if (modules_.try_emplace(t).second) fresh.push_back(t);
  std::vector<Bytes> codes(fresh.size());
  exec::Default().For(fresh.size(), 1, [&](size_t lo, size_t hi) {
    for (size_t i = lo; i < hi; ++i) codes[i] = codes_.Get(fresh[i]);
  });
  exec::cuda::Use(device);
  for (size_t i = 0; i < fresh.size(); ++i)
    if (!codes[i].empty()) modules_[fresh[i]] = std::make_unique<exec::cuda::Module>(codes[i], kKernel);
  std::vector<const exec::cuda::Module*> out;
  for (const std::string& t : texts) out.push_back(modules_.at(t).get());
  return out;
}

}  // namespace suf::backends::cuda
