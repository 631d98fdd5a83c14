#include "suf/service/internal/log_line.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "suf/base/digest.hpp"
#include "suf/base/json.hpp"
#include "suf/proto/receipt.hpp"

namespace suf::service {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kSchema = "suf.log/1", kNumberStart = R"("n":)", kPrevStart = R"(,"prev":")";
constexpr size_t kHexHash = 2 * sizeof(Hash);

// Returns milliseconds since 1970.
uint64_t MsOf(std::chrono::system_clock::time_point time) {
  return uint64_t(std::max<int64_t>(0, std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count()));
}

bool IsIsoTime(std::string_view time) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd.dddZ";
  if (time.size() != kForm.size()) return false;
  for (size_t i = 0; i < time.size(); ++i)
    if (kForm[i] == 'd' ? time[i] < '0' || time[i] > '9' : time[i] != kForm[i]) return false;
  return true;
}

[[noreturn]] void NoLine(const char* why) {
  Fail(Cause::kRefused, "the line is not one of a log of jobs: ", why, "; compare it with a copy");
}

const json& Field(const json& line, const char* name) {
  const auto it = line.find(name);
  if (it == line.end()) Fail(Cause::kRefused, "the line lacks the field ", name, "; compare it with a copy");
  return *it;
}

uint64_t Count(const json& line, const char* name) {
  const json& v = Field(line, name);
  if (!v.is_number_unsigned()) Fail(Cause::kRefused, "the field ", name, " is no count; compare it with a copy");
  return v.get<uint64_t>();
}

std::string Text(const json& line, const char* name) {
  const json& v = Field(line, name);
  if (!v.is_string()) Fail(Cause::kRefused, "the field ", name, " is no text; compare it with a copy");
  return v.get<std::string>();
}

std::optional<Hash> HashOfHex(std::string_view hex) {
  if (hex.size() != kHexHash || hex.find_first_not_of("0123456789abcdef") != hex.npos) return std::nullopt;
  const Bytes bytes = FromHex(hex, sizeof(Hash), "the hash");
  Hash hash{};
  std::copy(bytes.begin(), bytes.end(), hash.begin());
  return hash;
}

ordered_json JobText(const store::Job& job) {
  ordered_json out{{"tokens", job.tokens}, {"texts", job.texts}, {"variant", job.variant}};
  if (job.entry) out["entry"] = job.entry;
  if (job.past) out["past"] = job.past;
  return out;
}

}  // namespace

std::string FormatLine(const JobRecord& record, const ChainEnd& before, std::chrono::system_clock::time_point time,
                       uint64_t lost) {
  SUF_CHECK((record.outcome == JobOutcome::kRefused) == record.reason.has_value());
  ordered_json line{{"schema", kSchema},
                    {"n", before.number + 1},
                    {"prev", Hex(before.hash)},
                    {"time", proto::TimeStamp(MsOf(time))},
                    {"role", Name(record.role)}};
  if (lost) line["lost"] = lost;
  if (!record.owner.empty()) line["owner"] = record.owner;
  line["data_owner"] = Hex(record.data_owner);
  if (record.model_owner) line["model_owner"] = Hex(*record.model_owner);
  if (record.lane) line["lane"] = Hex(*record.lane);
  if (record.serial) line["serial"] = *record.serial;
  if (record.audit) line["audit"] = true;
  if (record.job) line["job"] = JobText(*record.job);
  if (record.plan != Hash{}) line["plan"] = Hex(record.plan);
  if (record.weights) line["weights"] = Hex(*record.weights);
  line["outcome"] = Name(record.outcome);
  if (record.reason) line["reason"] = net::Name(*record.reason);
  if (!record.receipt.empty()) line["receipt"] = record.receipt;
  // ASCII alone, so that a line has the same bytes and one row in every program
  std::string text = line.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
  SUF_CHECK(text.size() <= kLongestLine);
  return text;
}

LogLine ParseLine(std::string_view text) {
  const json line = ReadJson(text, {"the line", "compare it with a copy", Cause::kRefused});
  if (!line.is_object()) NoLine("it is no object");
  if (!text.starts_with(kLineStart)) NoLine("its schema is another one");
  LogLine out;
  out.number = Count(line, "n");
  if (out.number == 0 || out.number > kMostLines) NoLine("its number is out of range");
  const std::optional<Hash> prev = HashOfHex(Text(line, "prev"));
  if (!prev) NoLine("its field prev is no SHA-256");
  out.prev = *prev;
  out.time = Text(line, "time");
  if (!IsIsoTime(out.time)) NoLine("its time is not like 2026-11-28T15:03:46.123Z");
  const std::string outcome = Text(line, "outcome");
  const std::optional<JobOutcome> known = OutcomeNamed(outcome);
  if (!known) NoLine("its outcome is unknown");
  out.outcome = *known;
  if (line.contains("lost")) out.lost = Count(line, "lost");
  return out;
}

std::optional<ChainEnd> EndBefore(std::string_view text) {
  const auto skip = [&](std::string_view start) {
    if (!text.starts_with(start)) return false;
    text.remove_prefix(start.size());
    return true;
  };
  ChainEnd end;
  if (!skip(kLineStart) || !skip(kNumberStart)) return std::nullopt;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), end.number);
  if (error != std::errc() || end.number-- == 0) return std::nullopt;
  text.remove_prefix(size_t(rest - text.data()));
  if (!skip(kPrevStart)) return std::nullopt;
  const std::optional<Hash> prev = HashOfHex(text.substr(0, kHexHash));
  if (!prev) return std::nullopt;
  end.hash = *prev;
  return end;
}

}  // namespace suf::service
