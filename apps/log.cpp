#include "apps/log.hpp"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <iostream>

#include "suf/base/printable.hpp"

namespace suf::apps::log {
namespace {

spdlog::logger& Logger() {
  static auto logger = [] {
    // std::cerr keeps its lines clear of the line of progress
    auto l = std::make_shared<spdlog::logger>("suf", std::make_shared<spdlog::sinks::ostream_sink_mt>(std::cerr, true));
    l->set_pattern("%H:%M:%S.%e %l %v");
    l->flush_on(spdlog::level::info);
    return l;
  }();
  return *logger;
}

}  // namespace

void Info(const std::string& line) { Logger().info("{}", Printable(line)); }
void Warn(const std::string& line) { Logger().warn("{}", Printable(line)); }

}  // namespace suf::apps::log
