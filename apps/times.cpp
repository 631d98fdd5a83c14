#include "apps/times.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>

#include "suf/base/error.hpp"

namespace suf::apps {

nlohmann::ordered_json TimesJson(const run::Times& t) {
  nlohmann::ordered_json by = nlohmann::ordered_json::object();
  for (auto& [scope, s] : t.by) {
    by[scope] = {{"compute", s.compute * 1e3},
                 {"key", s.key * 1e3},
                 {"upload", s.upload * 1e3},
                 {"wire", s.wire * 1e3},
                 {"wait", s.wait * 1e3}};
    if (t.peak.device) {
      by[scope]["host"] = s.host * 1e3;
      by[scope]["launches"] = s.launches;
    }
  }
  nlohmann::ordered_json spans = nlohmann::ordered_json::object();
  auto micro = [](double s) { return std::round(s * 1e6) / 1e6; };
  for (auto& [part, s] : {std::pair{"deal", t.deal}, {"keys", t.keys}, {"ahead", t.ahead}, {"online", t.online}})
    if (s.end > 0) spans[part] = {micro(s.begin), micro(s.end)};
  nlohmann::ordered_json out{{"total", t.total * 1e3}, {"by", by}, {"spans", spans}};
  if (t.peak.device) {
    out["device_bytes"] = t.peak.device;
    out["pinned_bytes"] = t.peak.pinned;
  }
  return out;
}

TimesFile::TimesFile(const std::string& path) : out_(nullptr, std::fclose) {
  if (path.empty()) return;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  struct stat s {};
  // other users may be able to read a file that existed; a device or a pipe stays as it is
  bool owned = fd >= 0 && fstat(fd, &s) == 0 && (!S_ISREG(s.st_mode) || !(s.st_mode & 077) || fchmod(fd, 0600) == 0);
  if (owned) out_.reset(fdopen(fd, "w"));
  if (!out_) {
    if (fd >= 0) close(fd);
    Fail(Cause::kResource, "cannot make the file of times ", path, "; name one in a folder that you may write");
  }
}

void TimesFile::Add(uint64_t serial, const run::Times& t) {
  if (!out_) return;
  nlohmann::ordered_json row = TimesJson(t);
  row["serial"] = serial;
  const std::string line = row.dump() + "\n";
  std::lock_guard l(m_);
  std::fwrite(line.data(), 1, line.size(), out_.get());
  std::fflush(out_.get());
}

}  // namespace suf::apps
