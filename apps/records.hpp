// The records that a role's process keeps for its operator: the log of jobs and the metrics.
#pragma once
#include <optional>
#include <string>

#include "apps/commands.hpp"
#include "suf/base/role.hpp"
#include "suf/net/channel.hpp"
#include "suf/service/job_log.hpp"
#include "suf/service/metrics_file.hpp"

namespace suf::apps {

class RoleRecords {
 public:
  // Opens the log and writes the metrics for the first time. Throws the errors of service::JobLog and
  // service::MetricsFile.
  RoleRecords(const char* command, Role role, const RecordArgs& a);
  // Logs the last hash of the log, by which a cut end can be found later.
  ~RoleRecords();
  RoleRecords(const RoleRecords&) = delete;
  RoleRecords& operator=(const RoleRecords&) = delete;

  // Returns null if there is none.
  service::JobLog* log() { return log_ ? &*log_ : nullptr; }
  service::Metrics* metrics() { return metrics_ ? &*metrics_ : nullptr; }
  // Continues the log in a new file if the old one was renamed. Failures are logged.
  void Reopen();

 private:
  const std::string command_;
  std::optional<service::JobLog> log_;
  std::optional<service::Metrics> metrics_;
  std::optional<service::MetricsFile> file_;  // last, because its thread uses the metrics
};

// Counts how a session of a channel ended: the refusal that we sent, and the bytes of the set-up data.
class SessionCount {
 public:
  // `metrics` may be null.
  SessionCount(service::Metrics* metrics, const net::Channel& ch) : metrics_(metrics), ch_(ch) {}
  ~SessionCount();
  SessionCount(const SessionCount&) = delete;
  SessionCount& operator=(const SessionCount&) = delete;
  // Runs the session, and counts a refusal of the peer.
  template <class F>
  void Run(F&& session) {
    try {
      session();
    } catch (const net::RefusalError& e) {
      if (metrics_) metrics_->CountRefusal(e.code(), ch_.peer().role);
      throw;
    }
  }

 private:
  service::Metrics* const metrics_;
  const net::Channel& ch_;
};

}  // namespace suf::apps
