#include "apps/records.hpp"

#include "apps/log.hpp"
#include "apps/role.hpp"

namespace suf::apps {

RoleRecords::RoleRecords(const char* command, Role role, const RecordArgs& a) : command_(command) {
  if (!a.log.empty()) {
    service::JobLog::Options options;
    options.notice = [this](const std::string& sentence) { Warn(command_.c_str(), {sentence}); };
    log_.emplace(a.log, std::move(options));
    log::Info(Str(command_, ": the log of jobs is ", a.log, "; its last hash is ", Hex(log_->last())));
  }
  if (!a.metrics.empty() && !a.metrics.ends_with(".prom"))
    Fail(Cause::kInput, "--metrics takes a file whose name ends in .prom, because node_exporter reads no others; got ",
         a.metrics);
  if (!a.metrics.empty()) {
    metrics_.emplace(role, SUF_VERSION);
    file_.emplace(a.metrics, *metrics_, [this](const std::string& message) { Warn(command_.c_str(), {message}); });
  }
}

RoleRecords::~RoleRecords() {
  if (!log_) return;
  log_->Close();
  log::Info(Str(command_, ": the log of jobs ends with the hash ", Hex(log_->last())));
}

void RoleRecords::Reopen() {
  if (!log_) return;
  try {
    if (const auto end = log_->Reopen())
      log::Info(Str(command_, ": the log of jobs goes on in a new file; the old one ends with the hash ", Hex(*end)));
  } catch (const Error& e) {
    Warn(command_.c_str(), {Str("the log of jobs goes on in its old file: ", e.what())});
  }
}

SessionCount::~SessionCount() {
  if (!metrics_) return;
  if (const auto code = ch_.refusal()) metrics_->CountRefusal(*code, ch_.self().role);
  const net::Traffic& setup = ch_.traffic(net::Phase::kSetup);
  metrics_->CountBytes(setup.bytes_sent, setup.bytes_received);
}

}  // namespace suf::apps
