#include "suf/service/day.hpp"

#include <algorithm>
#include <cstdio>

namespace suf::service {

Day DayOf(Instant now) { return std::clamp(std::chrono::floor<std::chrono::days>(now), Day{}, kLastDay); }

std::string DayText(Day day) {
  const std::chrono::year_month_day date(day);
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", int(date.year()), unsigned(date.month()), unsigned(date.day()));
  return text;
}

uint32_t SecondsLeft(Day day, Instant now) {
  using std::chrono::seconds;
  const std::chrono::sys_seconds end = day + std::chrono::days{1};  // an Instant ends in 2262
  const seconds left = end - std::chrono::floor<seconds>(now);
  return uint32_t(std::clamp(left, seconds{1}, seconds{86'400}).count());
}

}  // namespace suf::service
