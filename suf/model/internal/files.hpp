// Small whole files of a model directory, Private to the room.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace suf::model {

// ReadText: the whole file; throws Cause::kInput when it is missing, unreadable or longer than `limit` bytes.
std::string ReadText(const std::filesystem::path& file, size_t limit);

// WriteWhole: the parts one after another, under a temporary name first: a reader sees the old file or all of the new
// one, which has this mode, less the umask, from its first byte. Throws Cause::kResource when the disk refuses.
void WriteWhole(const std::filesystem::path& file, std::initializer_list<std::string_view> parts, int mode = 0666);

// Throws as WriteWhole would if so many bytes cannot be written under this name; leaves nothing behind.
void ProbeWhole(const std::filesystem::path& file, uint64_t bytes);

}  // namespace suf::model
