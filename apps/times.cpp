#include "apps/times.hpp"

#include "suf/base/error.hpp"

namespace suf::apps {

nlohmann::ordered_json TimesJson(const proto::Times& t) {
  nlohmann::ordered_json by = nlohmann::ordered_json::object();
  for (auto& [scope, s] : t.by)
    by[scope] = {{"compute", s.compute * 1e3}, {"key", s.key * 1e3}, {"wire", s.wire * 1e3}, {"wait", s.wait * 1e3}};
  return {{"total", t.total * 1e3}, {"by", by}};
}

TimesFile::TimesFile(const std::string& path) {
  if (path.empty()) return;
  out_.open(path);
  if (!out_) Fail(Exit::kResource, "cannot make the file of times ", path, "; name one in a folder that you may write");
}

void TimesFile::Add(uint64_t serial, const proto::Times& t) {
  if (!out_.is_open()) return;
  nlohmann::ordered_json row = TimesJson(t);
  row["serial"] = serial;
  std::lock_guard l(m_);
  out_ << row.dump() << std::endl;
}

}  // namespace suf::apps
