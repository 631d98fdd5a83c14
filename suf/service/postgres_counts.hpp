// Counts in a PostgreSQL database that several processes of one model owner share. A reservation is one statement and
// one commit, and so is its confirmation. The day is one of UTC by the server's clock, and it never goes back.
//
// Each reservation has a row and a random name, so one that the database lost cannot be confirmed. Each process has a
// row with the number of its last statement, also in DIR/counts.postgres-seen. If the row falls behind, the database
// went back, and the quotas of that day count as used. No process notices that if none of those that counted goes on.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "suf/service/counts.hpp"
#include "suf/service/day.hpp"
#include "suf/service/postgres_address.hpp"

namespace suf::service {

class PostgresConnection;

// Connects, makes the tables if there are none, and disconnects. Throws as the constructor of PostgresCounts does.
void CheckPostgres(const PostgresAddress& address);

class PostgresCounts : public Counts {
 public:
  // A call waits at most this long for calls of other threads, then at most this long for the server. The resolution of
  // the server's name is not included.
  static constexpr std::chrono::seconds kLimit{5};

  // Connects, and makes the tables if there are none. The folder belongs to this process alone. Throws Cause::kRefused
  // if the server, its settings, the role or the tables cannot be used. Throws Cause::kResource if the server does not
  // answer.
  PostgresCounts(const PostgresAddress& address, const std::string& dir, std::chrono::milliseconds limit = kLimit);
  ~PostgresCounts() override;

  // If the connection is lost meanwhile, the amount may stay counted.
  std::variant<uint64_t, RetryAfter> Reserve(const std::string& owner, const Amount& amount,
                                             const Quota& quota) override;
  // If the connection is lost meanwhile, tries once more. If it throws, the reservation may be confirmed or released
  // again.
  void Confirm(uint64_t reservation) override;
  void Release(uint64_t reservation) noexcept override;
  Amount Today(const std::string& owner) override;
  std::vector<std::string> TakeNotices() override;

 private:
  class Call;
  struct HeldName {
    std::string owner, name;
  };
  // The answer to a reservation.
  struct ReserveReply {
    bool known = false, full = false, counted = false, moved = false;
    Day day;
    Instant now;
  };
  void Start(Call& call);
  ReserveReply TryReserve(Call& call, const std::string& owner, const Amount& amount, const Quota& quota,
                          const std::string& name);
  void FillDay(Call& call);
  void Clean(Call& call);
  void NoteFull(Day day);
  void See(Day day, Instant now, bool full);
  bool ReadSight();
  void WriteSight();
  void Note(const std::string& notice);

  const std::string dir_;
  const std::chrono::milliseconds limit_;
  std::timed_mutex m_;  // guards all down to full_noted_
  const std::unique_ptr<PostgresConnection> connection_;
  std::string process_;             // the name of our row
  int64_t number_ = 0, known_ = 0;  // of our last statement, and of the last one that was answered
  Day row_day_, day_;               // of our row, and the largest one seen
  bool clock_noted_ = false;
  std::optional<Day> full_noted_;
  std::mutex held_m_;  // guards all below
  std::unordered_map<uint64_t, HeldName> held_;
  uint64_t last_ = 0;  // reservation
  std::vector<std::string> notices_;
};

}  // namespace suf::service
