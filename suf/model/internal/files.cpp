#include "suf/model/internal/files.hpp"

#include <fcntl.h>

#include <cerrno>
#include <fstream>

#include "suf/base/digest.hpp"
#include "suf/base/error.hpp"
#include "suf/base/file.hpp"

namespace suf::model {

std::string ReadText(const std::filesystem::path& file, size_t limit) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    Fail(Cause::kInput, "there is no file ", file.string(), "; name a model directory that has it");
  }
  const uint64_t size = std::filesystem::file_size(file, error);
  if (error || size > limit) {
    Fail(Cause::kInput, file.string(), " is ", size, " bytes long, the limit is ", limit,
         "; it belongs to no model that this program reads");
  }
  std::string text(size, '\0');
  std::ifstream in(file, std::ios::binary);
  if (!in.read(text.data(), std::streamsize(size))) {
    Fail(Cause::kInput, file.string(), " cannot be read; check its permissions and the disk");
  }
  return text;
}

void WriteWhole(const std::filesystem::path& file, std::initializer_list<std::string_view> parts, int mode) {
  Part part(file.string(), mode);
  for (std::string_view p : parts) part.Add(AsView(p));
  part.Done();
}

void ProbeWhole(const std::filesystem::path& file, uint64_t bytes) {
  Part part(file.string());
  if (fallocate(part.fd(), 0, 0, off_t(bytes)) && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR)
    Fail(Cause::kResource, "cannot write ", file.string(), " of ", bytes, " bytes (", SystemError(),
         "); see to the disk, then start again");
}

}  // namespace suf::model
