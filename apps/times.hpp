// The file of --times: a JSON line for each inference, with a role's time by operator.
#pragma once
#include <cstdio>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "suf/run/times.hpp"

namespace suf::apps {

// Returns {"total": ms, "by": {scope: {"compute", "key", "upload", "wire", "wait"}}, "spans": {part: [begin, end]}}.
// Times of a scope are ms. Spans are seconds since 1970, of the parts that ran: deal, keys, ahead, online. On a device
// a scope also has "host" and "launches", and the row has "device_bytes" and "pinned_bytes".
nlohmann::ordered_json TimesJson(const run::Times& t);

// A file that only its owner can read. With an empty path it writes nothing.
class TimesFile {
 public:
  // Throws Cause::kResource if the file cannot be made.
  explicit TimesFile(const std::string& path);
  void Add(uint64_t serial, const run::Times& t);

 private:
  std::mutex m_;
  std::unique_ptr<FILE, int (*)(FILE*)> out_;
};

}  // namespace suf::apps
