#include "suf/model/fetch.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "suf/base/error.hpp"

namespace suf::model {

namespace {

// A model, and the file that the data owner's tokenizer is made of.
struct FetchedFiles {
  const char *name, *tokenizer;
};
constexpr std::array<FetchedFiles, 3> kFetched = {{{"all-MiniLM-L6-v2", "vocab.txt"},
                                                   {"all-mpnet-base-v2", "tokenizer.json"},
                                                   {"multilingual-e5-small", "tokenizer.json"}}};

const FetchedFiles& FindFetched(std::string_view name) {
  const auto found =
      std::find_if(kFetched.begin(), kFetched.end(), [&](const FetchedFiles& m) { return m.name == name; });
  if (found != kFetched.end()) return *found;
  std::string names;
  for (const FetchedFiles& m : kFetched) names += std::string(names.empty() ? "" : ", ") + m.name;
  Fail(Cause::kInput, name, " is not a model that is fetched; name one of ", names);
}

}  // namespace

const std::vector<std::string>& FetchedModels() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const FetchedFiles& m : kFetched) all.emplace_back(m.name);
    return all;
  }();
  return names;
}

std::filesystem::path ModelPath(std::string_view name) {
  const FetchedFiles& model = FindFetched(name);
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  std::filesystem::path base = cache ? cache : "";
  if (!base.is_absolute())
    base = home && *home ? std::filesystem::path(home) / ".cache" : "";  // XDG: a relative path is ignored
  if (base.empty())
    Fail(Cause::kInput, "neither XDG_CACHE_HOME nor HOME names a folder; set one of them or name the model directory");
  return base / "suf" / model.name;
}

std::filesystem::path FetchedModel(std::string_view name) {
  const FetchedFiles& model = FindFetched(name);
  const std::filesystem::path dir = ModelPath(name);
  std::error_code error;
  for (const char* file : {"config.json", "model.safetensors", model.tokenizer}) {
    if (!std::filesystem::is_regular_file(dir / file, error)) {
      Fail(Cause::kInput, "the model is not in ", dir.string(), " (no ", file, "); put the files of ", model.name,
           " there");
    }
  }
  return dir;
}

}  // namespace suf::model
