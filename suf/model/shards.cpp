#include "suf/model/shards.hpp"

#include "suf/model/internal/config.hpp"

namespace suf::model {
namespace {

using std::filesystem::path;

constexpr size_t kShardLimit = 1000;
// Bytes of the index, and of the headers of all shards together. It is enough for 100,000 tensors.
constexpr size_t kIndexLimit = 16 << 20;
constexpr const char* kAllAgain = "fetch all files of the model again";

// Returns the index's file of each tensor.
std::map<std::string, std::string> ReadIndex(const path& index) {
  const Fields fields(index.string(), ReadJsonFile(index, kIndexLimit), "");
  const json map = fields.Value("weight_map");
  if (!map.is_object() || map.empty())
    fields.Refuse("weight_map", "it must be an object with the file of each tensor; fetch it again");
  std::map<std::string, std::string> file_of;
  for (const auto& [tensor, v] : map.items()) {
    const std::string file = v.is_string() ? v.get<std::string>() : "";
    if (!IsPlainName(file))
      Fail(Cause::kInput, index.string(), ": the file of tensor ", Quoted(tensor), " is ",
           Quoted(v.is_string() ? file : v.dump(-1, ' ', true)),
           ", it must be the plain name of a file in the same directory; fetch the index again");
    file_of[tensor] = file;
  }
  return file_of;
}

}  // namespace

Shards::Shards(const path& folder) {
  std::map<std::string, std::string> listed;
  if (IsThere(folder / kWeightsFile) || !IsThere(folder / kWeightsIndex)) {
    files_ = {folder / kWeightsFile};
  } else {
    index_ = folder / kWeightsIndex;
    listed = ReadIndex(index_);
    std::set<std::string> names;
    for (const auto& [tensor, file] : listed) names.insert(file);
    if (names.size() > kShardLimit)
      Fail(Cause::kInput, index_.string(), " lists ", names.size(), " files, the limit is ", kShardLimit,
           "; save the model in fewer files: save_pretrained with a larger max_shard_size");
    for (const std::string& name : names) files_.push_back(folder / name);
  }
  uint64_t headers = 0;
  for (size_t i = 0; i < files_.size(); ++i) {
    const Safetensors& shard = Open(i);
    headers += shard.header_bytes();
    if (!index_.empty() && headers > kIndexLimit)
      Fail(Cause::kInput, "the headers of the files that ", index_.string(), " lists have more than ", kIndexLimit,
           " bytes together; ", kAnother);
    for (const auto& [name, entry] : shard.tensors())
      if (const auto [at, added] = shard_of_.emplace(name, i); !added)
        Fail(Cause::kInput, files_[i].string(), " has a tensor ", Quoted(name), ", which ",
             files_[at->second].filename().string(), " also has; ", kAllAgain);
  }
  for (const auto& [name, file] : listed)
    if (!Has(name) || FileOf(name) != folder / file)
      Fail(Cause::kInput, index_.string(), " lists a tensor ", Quoted(name), " in ", file,
           ", which has no such tensor; ", kAllAgain);
  if (!index_.empty())
    for (const auto& [name, shard] : shard_of_)
      if (!listed.contains(name)) omitted_.insert(name);
}

std::vector<std::string> Shards::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, shard] : shard_of_) names.push_back(name);
  return names;
}

Safetensors& Shards::Open(size_t shard) {
  if (open_ && open_shard_ == shard) return *open_;
  open_.reset();
  std::error_code error;
  if (!index_.empty() && !std::filesystem::is_regular_file(files_[shard], error))
    Fail(Cause::kInput, "there is no file ", files_[shard].string(), ", which ", index_.filename().string(),
         " lists; fetch it too");
  open_.emplace(files_[shard]);
  open_shard_ = shard;
  return *open_;
}

std::vector<float> Shards::Floats(const std::string& name, const Shape& shape) {
  const auto at = shard_of_.find(name);
  if (at == shard_of_.end() && files_.size() > 1)
    Fail(Cause::kInput, "none of the ", files_.size(), " files that ", index_.string(), " lists has a tensor ",
         Quoted(name), "; export the model with all its weights");
  if (omitted_.contains(name))
    Fail(Cause::kInput, index_.string(), " does not list the tensor ", Quoted(name), ", which ",
         files_[at->second].filename().string(), " has; ", kAllAgain);
  return Open(at == shard_of_.end() ? 0 : at->second).Floats(name, shape);
}

}  // namespace suf::model
