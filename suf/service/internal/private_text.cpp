#include "suf/service/internal/private_text.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "suf/base/private_files.hpp"

namespace suf::service {

std::string ReadPrivateText(const std::string& file, const char* what, size_t most) {
  CheckPrivateFile(file);
  const Fd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd)
    Fail(Cause::kInput, "cannot read the ", what, " ", file, " (", SystemError(),
         "); name a file that the user of this process can read");
  struct stat s {};
  if (fstat(fd.get(), &s) || !S_ISREG(s.st_mode))
    Fail(Cause::kInput, "the ", what, " ", file, " is ", S_ISDIR(s.st_mode) ? "a folder" : "no ordinary file",
         "; name a file");
  const auto bytes = size_t(s.st_size);
  if (bytes > most)
    Fail(Cause::kInput, "the ", what, " ", file, " has ", bytes, " bytes; write at most ", most, " bytes");
  std::string text(bytes + 1, '\0');  // one more byte shows that the file has grown
  text.resize(ReadInto(fd.get(), {reinterpret_cast<uint8_t*>(text.data()), text.size()}, file));
  if (text.size() != bytes)
    Fail(Cause::kInput, "the ", what, " ", file, " had ", bytes,
         " bytes and changed while it was read; write another file and rename it into place");
  return text;
}

}  // namespace suf::service
