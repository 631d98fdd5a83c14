#include "suf/service/internal/seen_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "suf/base/digest.hpp"
#include "suf/base/file.hpp"

namespace suf::service {

namespace {

Hash SeenHash(View content) { return HashOf({AsView("suf counts"), content}); }

}  // namespace

std::optional<Bytes> ReadSeenFile(const std::string& path, size_t bytes) {
  if (access(path.c_str(), F_OK)) return Bytes();
  Bytes b = ReadSome(OpenFile(path, O_RDONLY).get(), bytes + sizeof(Hash) + 1, path);
  if (b.size() != bytes + sizeof(Hash) || !Equal(SeenHash(View(b).first(bytes)), View(b).subspan(bytes)))
    return std::nullopt;
  b.resize(bytes);
  return b;
}

void WriteSeenFile(const std::string& dir, const std::string& name, View content) {
  Writer w;
  w.Raw(content);
  w.Raw(SeenHash(content));
  WriteFile(dir, name, w.bytes());
}

}  // namespace suf::service
