// The weights of a model directory: model.safetensors, or several files (shards) that model.safetensors.index.json
// lists. Either way they are one set of tensors. At most one file is open at a time.
#pragma once
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "suf/model/safetensors.hpp"

namespace suf::model {

inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kWeightsIndex = "model.safetensors.index.json";

class Shards {
 public:
  // Reads the headers of all files. As in transformers, an index beside model.safetensors is ignored. Symbolic links
  // are followed, because the hub's cache consists of them. Throws Cause::kInput for a malformed index or shard, a name
  // outside the folder and a missing shard. Throws it also for a tensor in two shards, or not in the shard that the
  // index lists.
  explicit Shards(const std::filesystem::path& folder);

  // The files, sorted by name.
  const std::vector<std::filesystem::path>& files() const { return files_; }
  bool Has(const std::string& name) const { return shard_of_.contains(name); }
  // Returns the file of a tensor that exists.
  const std::filesystem::path& FileOf(const std::string& name) const { return files_[shard_of_.at(name)]; }
  // Returns the names of all tensors, also of those that the index omits.
  std::vector<std::string> Names() const;
  // Returns a tensor as Safetensors::Floats does, and refuses one that the index omits. A change of file reads a header
  // again.
  std::vector<float> Floats(const std::string& name, const Shape& shape);

 private:
  Safetensors& Open(size_t shard);

  std::filesystem::path index_;  // "": there is one file and no index
  std::vector<std::filesystem::path> files_;
  std::map<std::string, size_t> shard_of_;
  std::set<std::string> omitted_;  // tensors that the index does not list
  std::optional<Safetensors> open_;
  size_t open_shard_ = 0;
};

}  // namespace suf::model
