// Reads files of known answers (tests only). A record is lines of "name value", and an empty line ends it; # starts a
// comment. A record whose fields are not all read fails its test.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "suf/base/bytes.hpp"

namespace suf {

class KnownAnswer {
 public:
  explicit KnownAnswer(std::map<std::string, std::string> fields) : fields_(std::move(fields)) {}
  std::string Text(const char* name) {
    auto node = fields_.extract(name);
    if (node.empty()) ADD_FAILURE() << "a record has no field " << name;
    return node.empty() ? "" : node.mapped();
  }
  uint64_t Number(const char* name) { return std::stoull(Text(name)); }
  Bytes Hex(const char* name) {
    const std::string text = Text(name);
    return FromHex(text, text.size() / 2, name);
  }
  template <size_t N>
  std::array<uint8_t, N> Array(const char* name) {
    const Bytes b = Hex(name);
    std::array<uint8_t, N> a{};
    EXPECT_EQ(b.size(), N) << name;
    std::copy_n(b.begin(), std::min(N, b.size()), a.begin());
    return a;
  }
  void ExpectAllRead() const {
    for (const auto& [name, value] : fields_) ADD_FAILURE() << "field " << name << " was not read";
  }

 private:
  std::map<std::string, std::string> fields_;
};

inline std::vector<KnownAnswer> KnownAnswers(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path << " is missing; run the tests in the source folder";
  std::vector<KnownAnswer> records;
  std::map<std::string, std::string> fields;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    const size_t space = line.find(' ');
    if (space != std::string::npos) fields[line.substr(0, space)] = line.substr(space + 1);
    if (line.empty() && !fields.empty()) records.emplace_back(std::exchange(fields, {}));
  }
  EXPECT_TRUE(fields.empty() && !records.empty()) << path;
  return records;
}

}  // namespace suf
