// Small whole files of a model directory, Private to the room.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace suf::model {

// Reads the whole file; throws Cause::kInput if it is missing, unreadable, longer than `limit` bytes, or something else
// in place of the file (RefuseStandIn).
std::string ReadText(const std::filesystem::path& file, size_t limit);

inline constexpr size_t kStandInBytes = 1024;  // how many first bytes RefuseStandIn reads

// Returns whether a directory has this name. A link that leads nowhere counts: the file is then missing, not absent.
bool IsThere(const std::filesystem::path& file);

// The parts one after another, under a temporary name first: a reader sees the old file or all of the new
// one, which has this mode, less the umask, from its first byte. Throws Cause::kResource when the disk refuses.
void WriteWhole(const std::filesystem::path& file, std::initializer_list<std::string_view> parts, int mode = 0666);

}  // namespace suf::model
