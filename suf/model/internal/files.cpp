#include "suf/model/internal/files.hpp"

#include <algorithm>
#include <fstream>

#include "suf/base/digest.hpp"
#include "suf/base/error.hpp"
#include "suf/base/file.hpp"
#include "suf/model/tokenizer.hpp"

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
  RefuseStandIn(text, file);
  return text;
}

bool IsThere(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(file, error));
}

bool StaysInside(const std::string& relative) {
  const std::filesystem::path path(relative);
  return !path.is_absolute() && std::find(path.begin(), path.end(), "..") == path.end() &&
         std::all_of(relative.begin(), relative.end(), [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
}

bool IsPlainName(const std::string& name) {
  constexpr size_t kNameLimit = 255;  // of Linux
  return !name.empty() && name != "." && name.size() <= kNameLimit && name.find('/') == name.npos && StaysInside(name);
}

void RefuseStandIn(std::string_view start, const std::filesystem::path& file) {
  constexpr std::string_view kMark = "\xef\xbb\xbf", kSpaces = " \t\r\n", kPointer = "version https://",
                             kSpec = "/spec/v";
  start = start.substr(0, kStandInBytes);
  if (start.starts_with(kPointer) && start.substr(0, start.find('\n')).find(kSpec) != start.npos)
    Fail(Cause::kInput, file.string(), " is a git-lfs pointer, not the file itself; fetch it with git lfs pull");
  if (start.starts_with(kMark)) start.remove_prefix(kMark.size());
  start.remove_prefix(std::min(start.find_first_not_of(kSpaces), start.size()));
  std::string word(start.substr(0, std::string_view("<!doctype html").size()));
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  if (word.starts_with("<!doctype html") || word.starts_with("<html") || word.starts_with("<head") ||
      word.starts_with("<!--"))
    Fail(Cause::kInput, file.string(),
         " is an HTML page, not the file itself; download the file that the page is about, not the page");
}

void WriteWhole(const std::filesystem::path& file, std::initializer_list<std::string_view> parts, int mode) {
  TempFile part(file.string(), mode);
  for (std::string_view p : parts) part.Add(AsView(p));
  part.Commit();
}

}  // namespace suf::model
