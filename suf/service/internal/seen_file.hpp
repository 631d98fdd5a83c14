// A file that keeps what a process has seen of its counts, with a hash. It shows later that the counts went back.
#pragma once
#include <optional>
#include <string>

#include "suf/base/bytes.hpp"

namespace suf::service {

// Returns the content, which has `bytes` bytes. It is empty if there is no file. Returns nothing if it is damaged.
std::optional<Bytes> ReadSeenFile(const std::string& path, size_t bytes);
// Replaces the file, durably.
void WriteSeenFile(const std::string& dir, const std::string& name, View content);

}  // namespace suf::service
