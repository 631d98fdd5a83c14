// Small files that a user names: plans, vocabularies, texts.
#pragma once
#include <string>

namespace suf::roles {

// The path that means standard input. A file of this name is ./-
inline constexpr const char* kStandardInput = "-";

// Reads a whole file. Throws Cause::kInput "cannot read <what><path>; <remedy>", also for a folder, for more than 1
// GiB, and if standard input is read twice.
std::string ReadFile(const std::string& path, const char* what, const char* remedy);
// Removes a UTF-8 byte order mark. Throws Cause::kInput if there is a mark of UTF-16 or UTF-32.
std::string WithoutMark(std::string bytes, const std::string& path);
// Reads a file of text: ReadFile, then WithoutMark.
std::string ReadText(const std::string& path, const char* what, const char* remedy);
// Returns the file's name for error messages.
std::string FileName(const std::string& path);

}  // namespace suf::roles
