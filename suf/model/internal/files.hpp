// Small whole files of a model directory. Private to the module.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace suf::model {

// Reads the whole file. Throws Cause::kInput if it is missing, unreadable or longer than `limit` bytes. Throws it also
// if something different is in the file's place (RefuseStandIn).
std::string ReadText(const std::filesystem::path& file, size_t limit);

inline constexpr size_t kStandInBytes = 1024;  // first bytes that RefuseStandIn reads

// Returns whether a directory has this name. A link that leads nowhere counts: the file is then missing, not absent.
bool IsThere(const std::filesystem::path& file);

// Returns whether a path that a file names stays in the folder: it is relative, of printable ASCII, without "..".
// It has no backslash, which other systems read as a slash.
bool StaysInside(const std::string& relative);
// Returns whether it is also the plain name of a file, of at most 255 bytes.
bool IsPlainName(const std::string& name);

// Writes the parts one after another, under a temporary name first. A reader sees the old file or all of the new one.
// The new one has this mode, less the umask, from its first byte. Throws Cause::kResource if the disk refuses.
void WriteWhole(const std::filesystem::path& file, std::initializer_list<std::string_view> parts, int mode = 0666);

}  // namespace suf::model
