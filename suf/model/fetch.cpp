#include "suf/model/fetch.hpp"

#include <cstdlib>

#include "suf/base/error.hpp"

namespace suf::model {

std::filesystem::path ModelPath() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  std::filesystem::path base = cache ? cache : "";
  if (!base.is_absolute())
    base = home && *home ? std::filesystem::path(home) / ".cache" : "";  // XDG: a relative path is ignored
  if (base.empty())
    Fail(Cause::kInput, "neither XDG_CACHE_HOME nor HOME names a folder; set one of them or name the model directory");
  return base / "suf" / "all-MiniLM-L6-v2";
}

std::filesystem::path FetchedModel() {
  const std::filesystem::path dir = ModelPath();
  std::error_code error;
  for (const char* file : {"config.json", "model.safetensors", "vocab.txt"}) {
    if (!std::filesystem::is_regular_file(dir / file, error)) {
      Fail(Cause::kInput, "the model is not in ", dir.string(), " (no ", file,
           "); put the files of all-MiniLM-L6-v2 there");
    }
  }
  return dir;
}

}  // namespace suf::model
