// Small files that a person names: plans, vocabularies, texts.
#pragma once
#include <string>

namespace suf::roles {

// ReadFile: the whole file; throws Cause::kInput "cannot read <what><path>; <remedy>", of a folder, too.
std::string ReadFile(const std::string& path, const char* what, const char* remedy);

}  // namespace suf::roles
