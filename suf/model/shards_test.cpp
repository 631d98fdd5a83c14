#include "suf/model/shards.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "suf/model/family.hpp"
#include "suf/model/internal/files.hpp"
#include "suf/model/random.hpp"
#include "suf/model/testing.hpp"

namespace suf::model {
namespace {

using nlohmann::json;
using Place = std::filesystem::path;

const std::string kOne = "model-00001-of-00002.safetensors", kTwo = "model-00002-of-00002.safetensors";

// Writes a file of tensors of shape (2).
void WriteShard(const Place& file, const std::map<std::string, float>& tensors) {
  std::vector<std::vector<float>> values;
  std::vector<NewTensor> all;
  for (const auto& [name, value] : tensors) {
    values.push_back({value, -value});
    all.push_back({name, {2}, std::span<const float>(values.back())});
  }
  WriteSafetensors(file, all);
}

// A folder of two shards: a and c in the first, b in the second.
class TwoShards : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteShard(folder_.path() / kOne, {{"a", 1}, {"c", 3}});
    WriteShard(folder_.path() / kTwo, {{"b", 2}});
    Index({{"a", kOne}, {"b", kTwo}, {"c", kOne}});
  }
  void Index(const json& weight_map) {
    folder_.Write(kWeightsIndex, json{{"metadata", {{"total_size", 24}}}, {"weight_map", weight_map}}.dump());
  }
  float First(const std::string& name) const { return Shards(folder_.path()).Floats(name, {2})[0]; }
  void Refused(const std::string& sentence) const {
    ExpectSentence([&] { Shards s(folder_.path()); }, sentence);
  }
  ModelFolder folder_;
};

TEST_F(TwoShards, AreOneSetOfTensors) {
  Shards s(folder_.path());
  EXPECT_EQ(s.files(), (std::vector<Place>{folder_.path() / kOne, folder_.path() / kTwo}));
  for (const auto& [name, value] : {std::pair{"b", 2.0f}, {"a", 1.0f}, {"c", 3.0f}, {"b", 2.0f}})
    EXPECT_EQ(s.Floats(name, {2}), (std::vector<float>{value, -value}));
  EXPECT_EQ(s.FileOf("b"), folder_.path() / kTwo);
  EXPECT_FALSE(s.Has("d"));
  ExpectSentence([&] { (void)s.Floats("d", {2}); },
                 "none of the 2 files that " + (folder_.path() / kWeightsIndex).string() + " lists has a tensor \"d\"");
  ExpectSentence([&] { (void)s.Floats("b", {3}); }, kTwo + ": tensor \"b\" has shape (2), not (3)");
}

TEST_F(TwoShards, ATensorThatTheIndexOmitsIsNotRead) {
  Index({{"b", kTwo}, {"c", kOne}});
  EXPECT_EQ(Shards(folder_.path()).Names(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(First("b"), 2);
  ExpectSentence([&] { (void)First("a"); }, "index.json does not list the tensor \"a\", which " + kOne +
                                                " has; fetch all files of the model again");
}

// transformers 5.24 takes model.safetensors if both exist.
TEST_F(TwoShards, AreReadAsTransformersReadsThem) {
  WriteShard(folder_.path() / kWeightsFile, {{"a", 7}});
  folder_.Write(kWeightsIndex, "no JSON");
  EXPECT_EQ(First("a"), 7);
  EXPECT_EQ(Shards(folder_.path()).files(), std::vector<Place>{folder_.path() / kWeightsFile});
  std::filesystem::remove(folder_.path() / kWeightsFile);
  std::filesystem::create_symlink("gone", folder_.path() / kWeightsFile);  // missing, not absent
  Refused("there is no file " + (folder_.path() / kWeightsFile).string());
}

// The hub's cache: snapshots/<revision>/ has links to blobs/.
TEST_F(TwoShards, LinksAreFollowed) {
  const Place blobs = folder_.path() / "blobs", snapshot = folder_.path() / "snapshots/1";
  std::filesystem::create_directories(blobs);
  std::filesystem::create_directories(snapshot);
  int blob = 0;
  for (const std::string& name : {kOne, kTwo, std::string(kWeightsIndex)}) {
    const std::string to = std::to_string(blob++);
    std::filesystem::rename(folder_.path() / name, blobs / to);
    std::filesystem::create_symlink(Place("../../blobs") / to, snapshot / name);
  }
  EXPECT_EQ(Shards(snapshot).Floats("b", {2})[0], 2);
  std::filesystem::remove(blobs / "1");
  ExpectSentence([&] { Shards s(snapshot); }, "there is no file " + (snapshot / kTwo).string() +
                                                  ", which model.safetensors.index.json lists; fetch it too");
}

TEST_F(TwoShards, MalformedIndexesAreRefused) {
  const std::string good = json{{"a", kOne}}.dump();
  const std::pair<std::string, std::string> cases[] = {
      {"", "index.json is not JSON text: it ends too early"},
      {"[]", "index.json is not a JSON object"},
      {"{}", "index.json: weight_map is missing, it must be an object with the file of each tensor"},
      {R"({"weight_map":{}})", "weight_map is \"{}\", it must be an object"},
      {R"({"weight_map":["a"]})", "weight_map is \"[\\\"a\\\"]\", it must be an object"},
      {R"({"weight_map":{"a":"x","a":"y"}})", "has the name \"a\" twice in one object"},
      {R"({"weight_map":)" + good + R"(,"weight_map":)" + good + "}", "has the name \"weight_map\" twice"},
      {R"({"weight_map":)" + std::string(100, '[') + std::string(100, ']') + "}", "nests deeper than 64 levels"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "index.json is a git-lfs pointer"},
      {"<!doctype html>", "index.json is an HTML page"},
      {std::string((16 << 20) + 1, ' '), "index.json is 16777217 bytes long, the limit is 16777216"}};
  for (const auto& [text, sentence] : cases) {
    folder_.Write(kWeightsIndex, text);
    Refused(sentence);
  }
}

// The names lead to real files, so that only the check of names can refuse them.
TEST_F(TwoShards, NamesThatLeaveTheFolderAreRefused) {
  const Place inner = folder_.path() / "inner", file = inner / kWeightsIndex;
  std::filesystem::create_directories(inner / "sub");
  WriteShard(folder_.path() / "x", {{"a", 1}});
  for (const char* name : {"x", "sub/x", "..\\x", "x\x7f", "\xc3\xa9"}) WriteShard(inner / name, {{"a", 1}});
  const auto refused = [&](const json& name, const std::string& shown) {
    folder_.Write("inner/" + std::string(kWeightsIndex), json{{"weight_map", {{"a", name}}}}.dump());
    ExpectSentence([&] { Shards s(inner); }, file.string() + ": the file of tensor \"a\" is " + shown +
                                                 ", it must be the plain name of a file in the same directory");
  };
  for (const std::string name : {"", ".", "..", "../x", "./x", "sub/x", "sub/../x", "x/", "..\\x"})
    refused(name, "\"" + name + "\"");
  refused((inner / "x").string(), Quoted((inner / "x").string()));
  refused(std::string("x\0y", 3), "\"x\\x00y\"");
  refused("x\x7f", "\"x\\x7f\"");
  refused("\xc3\xa9", "\"\xc3\xa9\"");
  refused(std::string(256, 'x'), "\"" + std::string(100, 'x') + "..\"");
  for (const json& name : {json(7), json(), json(true)}) refused(name, "\"" + name.dump() + "\"");
  refused(json{"x"}, Quoted(R"(["x"])"));
  folder_.Write("inner/" + std::string(kWeightsIndex), json{{"weight_map", {{"a", "x"}}}}.dump());
  EXPECT_EQ(Shards(inner).Floats("a", {2})[0], 1);
}

TEST_F(TwoShards, ATensorIsInExactlyTheShardThatTheIndexLists) {
  Index({{"a", kOne}, {"b", kTwo}, {"d", kTwo}});
  Refused("index.json lists a tensor \"d\" in " + kTwo + ", which has no such tensor; fetch all files of the model");
  Index({{"a", kTwo}, {"b", kTwo}, {"c", kOne}});
  Refused("index.json lists a tensor \"a\" in " + kTwo + ", which has no such tensor");
  Index({{"a", kOne}, {"b", kTwo}});
  WriteShard(folder_.path() / kTwo, {{"b", 2}, {"c", 4}});
  Refused(kTwo + " has a tensor \"c\", which " + kOne + " also has; fetch all files of the model again");
}

TEST_F(TwoShards, MalformedShardsAreRefused) {
  folder_.Write(kTwo, "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  Refused(kTwo + " is a git-lfs pointer");
  folder_.Write(kTwo, "12345678");
  Refused(kTwo + " is not a sound safetensors file");
  std::filesystem::remove(folder_.path() / kTwo);
  Refused("there is no file " + (folder_.path() / kTwo).string() + ", which model.safetensors.index.json lists");
  std::filesystem::create_directory(folder_.path() / kTwo);
  Refused("there is no file " + (folder_.path() / kTwo).string());
}

// Sets the number of files that this process may open, for its own lifetime.
class FileLimit {
 public:
  explicit FileLimit(rlim_t files) {
    getrlimit(RLIMIT_NOFILE, &old_);
    rlimit less = old_;
    less.rlim_cur = files;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &less), 0);
  }
  ~FileLimit() { setrlimit(RLIMIT_NOFILE, &old_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit old_{};
};

size_t OpenFiles() {
  using Entries = std::filesystem::directory_iterator;
  return size_t(std::distance(Entries("/proc/self/fd"), Entries()));
}

TEST_F(TwoShards, ThousandShardsNeedOneDescriptor) {
  json map;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = std::to_string(i);
    WriteShard(folder_.path() / name, {{"t" + name, float(i)}});
    map["t" + name] = name;
  }
  Index(map);
  {
    const size_t before = OpenFiles();
    Shards s(folder_.path());
    EXPECT_LE(OpenFiles(), before + 1);
    const FileLimit limit(rlim_t(OpenFiles() + 8));
    EXPECT_EQ(Shards(folder_.path()).files().size(), 1000u);
    for (int i : {999, 0, 500, 1, 0}) EXPECT_EQ(s.Floats("t" + std::to_string(i), {2})[0], float(i));
  }
  map["more"] = "1000";
  Index(map);
  Refused("index.json lists 1001 files, the limit is 1000; save the model in fewer files");
}

// One large header under many names would cost as much time as many large headers.
TEST_F(TwoShards, HeadersTogetherHaveALimit) {
  const uint64_t length = 9 << 20;
  std::string text = "{" + std::string(length - 2, ' ') + "}";
  folder_.Write("1", std::string(reinterpret_cast<const char*>(&length), sizeof length) + text);
  std::filesystem::create_symlink("1", folder_.path() / "2");
  Index({{"a", "1"}, {"b", "2"}});
  Refused("index.json lists have more than 16777216 bytes together; use another model");
}

// A model with its tensors spread over three files.
class ShardedModel : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteRandomModel(folder_.path(), FindPreset("tiny"), 1);
    whole_ = Load(folder_.path()).weights;
    Split({});
  }
  // Writes the shards, with `more` in the last one.
  void Split(const std::string& more) {
    std::vector<NewTensor> parts[3];
    json map;
    size_t next = 0;
    for (const auto& [name, t] : whole_.tensors()) {
      const size_t part = next++ % 3;
      parts[part].push_back({name, t.shape, std::span<const float>(t.values)});
      map[name] = File(part);
    }
    const std::vector<float> zero(1, 0.0f);
    if (!more.empty()) parts[2].push_back({more, {1}, std::span<const float>(zero)});
    for (size_t i = 0; i < 3; ++i) WriteSafetensors(folder_.path() / File(i), parts[i]);
    folder_.Write(kWeightsIndex, json{{"weight_map", map}}.dump());
    std::filesystem::remove(folder_.path() / kWeightsFile);
  }
  static std::string File(size_t part) { return Str("model-0000", part + 1, "-of-00003.safetensors"); }
  void Refused(const std::string& sentence) const {
    ExpectSentence([&] { (void)Load(folder_.path()); }, sentence);
  }
  ModelFolder folder_;
  nn::Checkpoint whole_;
};

TEST_F(ShardedModel, HasTheWeightsOfTheWholeOne) {
  const LoadedModel model = Load(folder_.path());
  EXPECT_EQ(model.weights.tensors().size(), whole_.tensors().size());
  for (const auto& [name, t] : whole_.tensors()) {
    EXPECT_EQ(model.weights.Get(name).shape, t.shape) << name;
    EXPECT_EQ(model.weights.Get(name).values, t.values) << name;
  }
}

TEST_F(ShardedModel, ErrorsNameTheShard) {
  const std::string name = "embeddings.LayerNorm.bias";
  Split("bert." + name);
  Refused(File(0) + " has a tensor \"" + name + "\" and " + File(2) + " the same one as \"bert." + name +
          "\"; keep one of them");
  Split("encoder.layer.2.attention.self.query.weight");
  Refused(File(2) + " has a tensor \"encoder.layer.2.attention.self.query.weight\" beyond the 2 layers of config.json");
  for (const char* further : {"bert.encoder.layer.2.output.dense.bias", "encoder.layer.9.more"}) {
    Split(further);
    Refused(Str(File(2), " has a tensor \"", further, "\" beyond the 2 layers of config.json; use the files of one"));
  }
  const std::string adapter = "encoder.layer.0.attention.self.query.lora_A.default.weight";
  Split(adapter);
  Refused(File(2) + " has a tensor \"" + adapter + "\" of an adapter, which is not applied; merge it into the weights");
  Split("pooler.dense.weight");
  EXPECT_NO_THROW((void)Load(folder_.path()));
  Split({});
  json index = json::parse(ReadText(folder_.path() / kWeightsIndex, 1 << 20));
  const std::string file = index["weight_map"][name];
  index["weight_map"].erase(name);
  folder_.Write(kWeightsIndex, index.dump());
  Refused("index.json does not list the tensor \"" + name + "\", which " + file + " has; fetch all files");
  std::vector<NewTensor> others;
  for (const auto& [other, t] : whole_.tensors())
    if (index["weight_map"].contains(other) && index["weight_map"][other] == file)
      others.push_back({other, t.shape, std::span<const float>(t.values)});
  WriteSafetensors(folder_.path() / file, others);
  Refused("none of the 3 files that " + (folder_.path() / kWeightsIndex).string() + " lists has a tensor \"" + name +
          "\"; export the model with all its weights");
}

}  // namespace
}  // namespace suf::model
