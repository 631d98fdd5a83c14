#include "suf/service/metrics_file.hpp"

#include <sys/stat.h>

#include <condition_variable>
#include <filesystem>
#include <stop_token>

#include "suf/base/digest.hpp"
#include "suf/base/file.hpp"
#include "suf/base/foreign.hpp"

namespace suf::service {

MetricsFile::MetricsFile(const std::string& file, const Metrics& metrics, Report report,
                         std::chrono::milliseconds period)
    : file_(file),
      process_(std::filesystem::path(file).stem().string()),
      metrics_(metrics),
      report_(std::move(report)) {
  WriteOnce();
  thread_ = std::jthread([this, period](const std::stop_token& stop) {
    std::mutex m;
    std::condition_variable_any stopped;
    std::unique_lock lock(m);
    while (!stopped.wait_for(lock, stop, period, [&] { return stop.stop_requested(); })) Update();
  });
}

MetricsFile::~MetricsFile() {
  thread_.request_stop();
  thread_.join();
  Update();
}

void MetricsFile::WriteOnce() const {
  TempFile temp(file_);
  if (fchmod(temp.fd(), 0644))
    Fail(Cause::kResource, "cannot let other users read ", file_, " (", SystemError(),
         "); name a file on another disk");
  metrics_.Write(process_, [&](std::string_view piece) { temp.Add(AsView(piece)); });
  temp.Commit();
}

void MetricsFile::Update() noexcept {
  try {
    const std::lock_guard l(m_);
    try {
      WriteOnce();
      failed_ = false;
    } catch (const std::exception& e) {
      if (std::exchange(failed_, true) || !report_) return;
      const std::string message = Message(e);  // its last part would have the process started again
      report_(Str(message.substr(0, message.rfind("; ")),
                  "; the metrics there are old, and are written as soon as this is possible"));
    }
  } catch (...) {  // no error of a report or of its memory may end the process
  }
}

}  // namespace suf::service
