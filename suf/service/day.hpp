// Days of the calendar, in UTC. The limits of data owners hold for a day.
#pragma once
#include <chrono>
#include <functional>
#include <string>

namespace suf::service {

using Day = std::chrono::sys_days;
using Instant = std::chrono::system_clock::time_point;
// This machine's wall clock, or that of a test.
using WallClock = std::function<Instant()>;

// The last day that a count or an owners' file may name.
inline constexpr Day kLastDay = std::chrono::year{9999} / 12 / 31;

// Returns the day of an instant, from 1970-01-01 to kLastDay.
Day DayOf(Instant now);
// A day as a number: the days since 1970-01-01.
inline int64_t NumberOf(Day day) { return day.time_since_epoch().count(); }
inline Day DayAt(int64_t number) { return Day(std::chrono::days{number}); }
// Returns whether a number is that of a day up to kLastDay.
inline bool IsDay(int64_t number) { return number >= 0 && number <= NumberOf(kLastDay); }
// Returns "2027-01-31".
std::string DayText(Day day);
// Returns the seconds from `now` to the end of the day, at least 1 and at most 86,400.
uint32_t SecondsLeft(Day day, Instant now);

}  // namespace suf::service
