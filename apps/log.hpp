// Logging to stderr through spdlog, one line an event. No line holds a key, a mask, a text or a weight.
#pragma once
#include <string>

namespace suf::apps::log {

void Info(const std::string& line);
void Warn(const std::string& line);

}  // namespace suf::apps::log
