#include "suf/service/job_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "suf/base/digest.hpp"
#include "suf/base/foreign.hpp"
#include "suf/base/plural.hpp"
#include "suf/service/internal/log_file.hpp"

namespace suf::service {

namespace {

// Writes all bytes by `write`, which returns as write(2) does. Returns how many were written.
template <class F>
size_t WriteBytes(View bytes, F&& write) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = write(bytes.subspan(done), done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += size_t(n);
  }
  return done;
}

}  // namespace

JobLog::JobLog(std::string file, Options options) : file_(std::move(file)), options_(std::move(options)) {
  if (!options_.clock) options_.clock = [] { return std::chrono::system_clock::now(); };
  if (!options_.sync) options_.sync = [](int fd) { return fdatasync(fd); };
  Notices notices;
  LogFile log = OpenLog(file_, &notices);
  fd_ = std::move(log.fd);
  number_ = log.end.number;
  head_ = last_ = log.end.hash;
  Report(notices);
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

JobLog::~JobLog() { Close(); }

// Syncs lines within an interval after they were added. Close syncs the last ones.
void JobLog::Run(const std::stop_token& stop) {
  std::unique_lock lock(m_);
  while (due_.wait(lock, stop, [this] { return !lines_.empty(); })) {
    due_.wait_for(lock, stop, options_.interval, [] { return false; });
    if (stop.stop_requested()) return;
    lock.unlock();
    (void)SyncLines();
    lock.lock();
  }
}

void JobLog::Report(const Notices& notices) noexcept {
  if (!options_.notice) return;
  for (const std::string& sentence : notices) options_.notice(sentence);
}

// Notes that the disk refuses the log. `errno` says why.
void JobLog::Broke(const char* what, Notices* notices) {
  const std::string why = SystemError();
  if (std::exchange(writable_, false))
    notices->push_back(Str("cannot ", what, " the log ", file_, " (", why,
                           "); no inference begins until it can be written, so see to the disk"));
}

// Writes the lines that are not in the file yet. Returns whether all of them are.
bool JobLog::WriteLines(Notices* notices) {
  for (; written_ < lines_.size(); ++written_) {
    struct stat s {};
    if (fstat(fd_.get(), &s)) {
      Broke("check", notices);
      return false;
    }
    if (torn_ && uint64_t(s.st_size) > *torn_ && ftruncate(fd_.get(), off_t(*torn_))) {
      Broke("repair", notices);
      return false;
    }
    const auto begin = uint64_t(torn_ ? std::min(off_t(*torn_), s.st_size) : s.st_size);
    torn_.reset();
    const std::string& text = lines_[written_].text;
    const size_t done =
        WriteBytes(AsView(text), [&](View rest, size_t) { return write(fd_.get(), rest.data(), rest.size()); });
    if (done < text.size()) {
      Broke("write", notices);
      // the part of a line goes at once, as the next start would cut it off too
      if (done && ftruncate(fd_.get(), off_t(begin))) torn_ = begin;
      return false;
    }
    last_ = lines_[written_].hash;
  }
  return true;
}

// Writes the last lines of the file again, at their place. After a failed sync the kernel counts their pages as clean.
// A later sync alone would succeed without them.
bool JobLog::RewriteLines(Notices* notices) {
  struct stat s {};
  uint64_t bytes = 0;
  for (size_t i = 0; i < written_; ++i) bytes += lines_[i].text.size();
  const int flags = fcntl(fd_.get(), F_GETFL);
  if (fstat(fd_.get(), &s) || flags < 0 || fcntl(fd_.get(), F_SETFL, flags & ~O_APPEND)) {  // pwrite would append
    Broke("repair", notices);
    return false;
  }
  const uint64_t end = torn_.value_or(uint64_t(s.st_size));
  bool right = true;
  if (end >= bytes) {  // else another program has cut the file
    uint64_t at = end - bytes;
    for (size_t i = 0; i < written_ && right; at += lines_[i++].text.size())
      right = WriteBytes(AsView(lines_[i].text), [&](View rest, size_t done) {
                return pwrite(fd_.get(), rest.data(), rest.size(), off_t(at + done));
              }) == lines_[i].text.size();
    if (!right) Broke("repair", notices);
  }
  (void)fcntl(fd_.get(), F_SETFL, flags);
  rewrite_ = !right;
  return right;
}

// Writes and syncs all lines. Returns whether no line waits for the disk.
bool JobLog::SyncLines() noexcept try {
  const std::lock_guard syncing(syncing_);
  Notices notices;
  size_t count = 0;
  bool right = true;
  {
    const std::lock_guard lock(m_);
    right = WriteLines(&notices);
    if (rewrite_) right = RewriteLines(&notices) && right;
    count = rewrite_ ? 0 : written_;
  }
  // lines may be added meanwhile; the file stays open, because only holders of syncing_ replace it
  const int error = count && options_.sync(fd_.get()) ? errno : 0;
  {
    const std::lock_guard lock(m_);
    if (error) {
      errno = error;
      Broke("sync", &notices);
      rewrite_ = true;
      right = false;
    } else {
      lines_.erase(lines_.begin(), lines_.begin() + std::ptrdiff_t(count));
      written_ -= count;
    }
    if (right && !std::exchange(writable_, true)) notices.push_back(Str("the log ", file_, " is written again"));
    if (!IsNamed() && !std::exchange(replaced_, true))
      notices.push_back(Str("the log ", file_,
                            " was removed or renamed, and lines go to its old file; let a hangup signal "
                            "begin the new one"));
  }
  Report(notices);
  return right;
} catch (...) {  // no memory: the next interval tries again
  return false;
}

void JobLog::Append(const JobRecord& record, Notices* notices) {
  if (closed_) Fail(Cause::kResource, "a job ended after its log ", file_, " was closed, so it has no line there");
  if (lines_.size() >= kMostWaiting) {  // the disk's refusal is reported already
    ++lost_;
    return;
  }
  std::string line = FormatLine(record, {number_, head_}, options_.clock(), lost_);
  const Hash hash = HashOf({AsView(line)});
  line += '\n';
  lines_.push_back({std::move(line), hash});
  head_ = hash;
  ++number_;
  lost_ = 0;
  (void)WriteLines(notices);
}

void JobLog::Add(const JobRecord& record) noexcept {
  Notices notices;
  {
    std::unique_lock lock(m_);
    while (lines_.size() >= kMostWaiting && writable_ && !closed_) {
      lock.unlock();
      const bool right = SyncLines();
      lock.lock();
      if (!right) break;
    }
    try {
      Append(record, &notices);
    } catch (const std::exception& e) {
      ++lost_;
      notices.push_back(Message(e));
    }
  }
  due_.notify_one();
  Report(notices);
}

bool JobLog::writable() const {
  const std::lock_guard lock(m_);
  return writable_ && !closed_;
}

Hash JobLog::last() const {
  const std::lock_guard lock(m_);
  return last_;
}

// Whether the name is that of the file that is open.
bool JobLog::IsNamed() const {
  struct stat named {
  }, held{};
  return !stat(file_.c_str(), &named) && !fstat(fd_.get(), &held) && named.st_dev == held.st_dev &&
         named.st_ino == held.st_ino;
}

std::optional<Hash> JobLog::Reopen() {
  Notices notices;
  Hash end{};
  {
    const std::lock_guard syncing(syncing_);
    const std::lock_guard lock(m_);
    if (closed_ || IsNamed()) return std::nullopt;
    LogFile next = OpenLog(file_, &notices);
    (void)WriteLines(&notices);
    if (next.end.number && next.end.hash != last_)
      Fail(Cause::kRefused, file_, " has lines of another log; move it away, then try again");
    if (written_ && options_.sync(fd_.get())) Broke("sync", &notices);
    end = last_;
    lines_.erase(lines_.begin(), lines_.begin() + std::ptrdiff_t(written_));
    written_ = 0;
    torn_.reset();
    rewrite_ = replaced_ = false;
    fd_ = std::move(next.fd);
    if (WriteLines(&notices) && !std::exchange(writable_, true))
      notices.push_back(Str("the log ", file_, " is written again"));
  }
  Report(notices);
  return end;
}

void JobLog::Close() noexcept {
  {
    const std::lock_guard lock(m_);
    if (std::exchange(closed_, true)) return;
  }
  thread_ = {};  // ends it
  (void)SyncLines();
  const std::lock_guard syncing(syncing_);
  const std::lock_guard lock(m_);
  fd_ = Fd();
  if (const uint64_t lost = lost_ + lines_.size() - written_)
    Report({Str("the log ", file_, " lacks the last ", Plural(lost, "line"), ", which the disk refused")});
}

}  // namespace suf::service
