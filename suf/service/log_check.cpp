#include "suf/service/log_check.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "suf/base/digest.hpp"
#include "suf/base/plural.hpp"
#include "suf/service/internal/log_file.hpp"

namespace suf::service {

namespace {

constexpr size_t kReadAtOnce = 2 * kLongestLine;
// The lines before the current one among which a repeated line is found.
constexpr size_t kRemembered = 1024;

// A line of a file, by the index of the file.
struct Position {
  size_t file = 0;
  uint64_t line = 0;  // from 1
  bool operator==(const Position&) const = default;
};

// A line as a file has it.
struct RawLine {
  Position at;
  std::string text;  // at most kLongestLine + 1 bytes
  bool cut = false;  // the line is longer, or has no newline
};

// Reads the lines of several files.
class LogReader {
 public:
  explicit LogReader(const std::vector<std::string>& files) : files_(files), buffer_(kReadAtOnce) {}

  // Returns false at the end of the last file.
  bool Next(RawLine* out) {
    while (at_ == filled_ && !(fd_ && Fill()))
      if (!OpenNext()) return false;
    *out = {{next_ - 1, ++line_}, {}, true};
    do {
      const auto begin = buffer_.begin() + std::ptrdiff_t(at_), end = buffer_.begin() + std::ptrdiff_t(filled_);
      const auto newline = std::find(begin, end, '\n');
      const size_t space = kLongestLine + 1 - out->text.size();  // one byte more shows that the line is too long
      out->text.append(begin, begin + std::min<std::ptrdiff_t>(newline - begin, std::ptrdiff_t(space)));
      at_ += size_t(newline - begin);
      if (newline != end) {
        ++at_;
        out->cut = out->text.size() > kLongestLine;
        return true;
      }
    } while (Fill());
    return true;
  }

 private:
  bool Fill() {
    at_ = 0;
    filled_ = ReadInto(fd_.get(), buffer_, files_[next_ - 1]);
    return filled_ > 0;
  }

  // Opens the next file and reads its first bytes. Returns false if there is none.
  bool OpenNext() {
    if (next_ == files_.size()) return false;
    const std::string& path = files_[next_++];
    if (access(path.c_str(), F_OK)) Fail(Cause::kInput, "there is no log ", Quoted(path), "; name one that exists");
    ExpectLines(path);
    fd_ = OpenFile(path, O_RDONLY, Links::kFollow);
    line_ = 0;
    Fill();
    // a damaged first line does not hide that the second one is a log's
    const std::string_view head(reinterpret_cast<const char*>(buffer_.data()), filled_);
    if (!head.empty() && !head.starts_with(kLineStart) && head.find(Str('\n', kLineStart)) == head.npos)
      Fail(Cause::kInput, path, " is no log of jobs; name one, or unpack it first");
    return true;
  }

  const std::vector<std::string>& files_;
  Bytes buffer_;
  size_t next_ = 0, at_ = 0, filled_ = 0;
  uint64_t line_ = 0;
  Fd fd_;
};

// A line with its hash. If it cannot be read, `wrong` says why.
struct CheckedLine {
  Position at;
  Hash hash{};
  LogLine fields;
  std::string wrong;
};

CheckedLine Read(const RawLine& raw) {
  CheckedLine out{raw.at, {}, {}, {}};
  if (raw.text.size() > kLongestLine) {
    out.wrong = Str("the line has more than ", kLongestLine, " bytes");
  } else if (raw.cut) {
    out.wrong = "the line has no end: it was cut, or the program ended while it wrote";
  } else {
    try {
      out.fields = ParseLine(raw.text);
      out.hash = HashOf({AsView(raw.text)});
    } catch (const Error& e) {
      out.wrong = e.what();
    }
  }
  return out;
}

// Follows the chain, one line ahead of the judged one. Only the next line says which of two lines was changed.
class ChainChecker {
 public:
  ChainChecker(const std::vector<std::string>& files, const std::optional<Hash>& kept) : files_(files), kept_(kept) {}

  void Add(CheckedLine line) {
    ++result_.lines;
    if (waiting_) Judge(*waiting_, &line);
    waiting_ = std::move(line);
    if (std::exchange(swapped_, false)) waiting_.reset();  // judged already
  }

  LogCheck Finish() {
    if (waiting_) Judge(*waiting_, nullptr);
    result_.last = end_.hash;
    result_.end = end_.number;
    if (kept_ == Hash{} && !begun_ && !files_.empty()) result_.found = LogPlace{files_[0], 0};  // of an empty log
    return std::move(result_);
  }

 private:
  template <class... T>
  void Fault(const Position& at, const T&... parts) {
    if (std::exchange(last_fault_, at) == at) return;  // a changed line shows by its own fields and by the next one
    if (result_.fault_count++ < LogCheck::kMostFaults) result_.faults.push_back({PlaceOf(at), Str(parts...)});
  }
  LogPlace PlaceOf(const Position& at) const { return {files_[at.file], at.line}; }

  // Makes `line` the end of the chain, with this number.
  void Accept(const CheckedLine& line, uint64_t number) {
    end_ = {number, line.hash};
    known_ = true;
    place_ = line.at;
    recent_.emplace_back(line.hash, line.at);
    if (recent_.size() > kRemembered) recent_.pop_front();
    const LogLine& f = line.fields;
    ++result_.outcomes[size_t(f.outcome)];
    result_.lost += f.lost;
    if (result_.earliest.empty() || f.time < result_.earliest) result_.earliest = f.time;
    result_.latest = std::max(result_.latest, f.time);
    if (result_.found) ++result_.after;
    if (kept_ && line.hash == *kept_) {
      result_.found = PlaceOf(line.at);
      result_.after = 0;
    }
  }

  // Judges a line; `next` is null at the end.
  void Judge(const CheckedLine& line, const CheckedLine* next) {
    const LogLine& f = line.fields;
    if (!line.wrong.empty()) {
      Fault(line.at, line.wrong);
      // the next line either follows this one or stands behind an added one
      if (!begun_ || (next && next->wrong.empty() && known_ && next->fields.prev == end_.hash)) return;
      ++end_.number;
      known_ = false;
      return;
    }
    if (!std::exchange(begun_, true)) {
      const bool zeros = f.prev == Hash{};
      result_.first = zeros ? 1 : f.number;
      if ((f.number == 1) != zeros)
        Fault(line.at, "the line was changed: only the first line of a chain has zeros as hash of the line before");
      if (kept_ && f.prev == *kept_) result_.found = LogPlace{files_[line.at.file], 0};
      return Accept(line, result_.first);
    }
    const uint64_t due = end_.number + 1;
    if (known_ ? f.prev == end_.hash : f.number == due) {
      if (f.number != due) Fault(line.at, "the line was changed: its number is ", f.number, " and must be ", due);
      return Accept(line, due);
    }
    Break(line, next);
  }

  // Judges a line that does not hold the hash of the line before.
  void Break(const CheckedLine& line, const CheckedLine* next) {
    const LogLine& f = line.fields;
    const uint64_t due = end_.number + 1;
    const bool new_file = line.at.file != place_.file;
    const auto repeated =
        std::find_if(recent_.begin(), recent_.end(), [&](const auto& earlier) { return earlier.first == line.hash; });
    if (repeated != recent_.end())
      return Fault(line.at, "the line repeats line ", repeated->second.line, " of ", files_[repeated->second.file]);
    if (f.number == 1 && f.prev == Hash{}) {
      Fault(line.at, "a new chain begins here, and the one before ends with number ", end_.number,
            new_file ? "; give the oldest file first" : "");
    } else if (f.number == due) {
      Changed(line, next);
    } else if (f.number > due) {
      if (next && next->wrong.empty() && next->fields.number == due && f.number == due + 1 && f.prev == next->hash) {
        Fault(line.at, "the line and the next one have changed places");
        Accept(*next, due);
        swapped_ = true;
      } else {
        Fault(line.at, Plural(f.number - due, "line"), f.number - due == 1 ? " is" : " are",
              " missing before this one, from number ", due, new_file ? "; is a file missing?" : "");
      }
    } else {
      Fault(line.at, "the line is out of order: it has number ", f.number, ", after number ", end_.number,
            new_file ? "; give the oldest file first" : "");
      if (!new_file) return;
    }
    Accept(line, f.number);
  }

  // Names the changed one of two lines, whose numbers follow each other.
  void Changed(const CheckedLine& line, const CheckedLine* next) {
    if (!next || !next->wrong.empty())
      Fault(place_, "the line was changed, or the hash that the next one holds of it");
    else if (next->fields.prev == line.hash)
      Fault(place_, "the line was changed: the next one holds another hash of it");
    else
      Fault(line.at, "the line was changed: it does not hold the hash of the line before");
  }

  const std::vector<std::string>& files_;
  const std::optional<Hash>& kept_;
  LogCheck result_;
  std::optional<CheckedLine> waiting_;
  ChainEnd end_;
  bool begun_ = false, known_ = false, swapped_ = false;  // known_: the hash of the end
  Position place_, last_fault_;
  std::deque<std::pair<Hash, Position>> recent_;
};

}  // namespace

LogCheck CheckLogs(const std::vector<std::string>& files, const std::optional<Hash>& kept) {
  LogReader reader(files);
  ChainChecker checker(files, kept);
  RawLine line;
  while (reader.Next(&line)) checker.Add(Read(line));
  return checker.Finish();
}

}  // namespace suf::service
