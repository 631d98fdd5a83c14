// A file of metrics for a program that reads it as another user, such as node_exporter. No process with weights or keys
// listens for a reader.
#pragma once
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "suf/service/metrics.hpp"

namespace suf::service {

// A thread that writes the metrics to a file, by a temporary file and a rename. A reader sees one whole version, of
// mode 0644. Writes follow the clock, not the events that they count.
class MetricsFile {
 public:
  static constexpr std::chrono::milliseconds kPeriod{5000};
  // Receives an error message for the log.
  using Report = std::function<void(const std::string& message)>;
  // Writes the file for the first time. Throws Cause::kResource if that fails, as in a folder that does not exist. The
  // name of the file, without its ending, becomes the label `process`. `metrics` must outlive the object. `report` is
  // called in the thread of Update or of the file. It receives the first error after a success alone.
  MetricsFile(const std::string& file, const Metrics& metrics, Report report,
              std::chrono::milliseconds period = kPeriod);
  // Writes the file a last time.
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;
  // Writes the file now. If that fails, the old file stays. Thread-safe.
  void Update() noexcept;

 private:
  void WriteOnce() const;
  const std::string file_, process_;
  const Metrics& metrics_;
  const Report report_;
  std::mutex m_;         // held during Update
  bool failed_ = false;  // the last Update
  std::jthread thread_;  // last, so that it ends before the members that it uses
};

}  // namespace suf::service
