#include "suf/roles/files.hpp"

#include <fstream>

#include "suf/base/error.hpp"

namespace suf::roles {

std::string ReadFile(const std::string& path, const char* what, const char* remedy) {
  std::ifstream in(path, std::ios::binary);
  std::string text, block(1 << 16, 0);
  while (in.read(block.data(), std::streamsize(block.size())) || in.gcount())
    text.append(block, 0, size_t(in.gcount()));
  if (!in.eof()) Fail(Cause::kInput, "cannot read ", what, path, "; ", remedy);  // of a folder, too
  return text;
}

}  // namespace suf::roles
