// --times: a JSON line an inference, where a role's time went.
#pragma once
#include <cstdio>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "suf/run/times.hpp"

namespace suf::apps {

// {"total": ms, "by": {scope: {"compute", "key", "upload", "wire", "wait"}}, "spans": {part: [begin, end]}},
// spans in seconds since 1970, those that there were of deal, keys, ahead and online. Of a role on a device a scope has
// "host" and "launches", too, and the row "device_bytes" and "pinned_bytes".
nlohmann::ordered_json TimesJson(const run::Times& t);

// Readable by its owner alone; does nothing when its path is empty.
class TimesFile {
 public:
  // Throws Cause::kResource when the file cannot be made.
  explicit TimesFile(const std::string& path);
  void Add(uint64_t serial, const run::Times& t);

 private:
  std::mutex m_;
  std::unique_ptr<FILE, int (*)(FILE*)> out_;
};

}  // namespace suf::apps
