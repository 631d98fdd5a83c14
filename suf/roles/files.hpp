// Small files that a person names: plans, vocabularies, texts.
#pragma once
#include <string>

namespace suf::roles {

// The path that means standard input. A file of this name is ./-
inline constexpr const char* kStandardInput = "-";

// Reads a whole file. Throws Cause::kInput "cannot read <what><path>; <remedy>", also for a folder, for more than 1
// GiB, and if standard input is read twice.
std::string ReadFile(const std::string& path, const char* what, const char* remedy);
// Removes the mark by which a file may say that it is UTF-8. Throws Cause::kInput if the mark says UTF-16 or UTF-32.
std::string WithoutMark(std::string bytes, const std::string& path);
// Reads a file of text: ReadFile, then WithoutMark.
std::string ReadText(const std::string& path, const char* what, const char* remedy);
// What an error message calls the file.
std::string FileName(const std::string& path);

}  // namespace suf::roles
