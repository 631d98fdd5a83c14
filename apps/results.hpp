// What `embed` makes of its results: lines on stdout, rows of JSON, --out. A thread of its own does it, so that the
// session's next frame waits neither for a result's value (a zero is an error, that the model owner must not notice)
// nor for who reads stdout.
#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "apps/output.hpp"
#include "apps/texts.hpp"
#include "apps/times.hpp"
#include "suf/roles/data_owner.hpp"

namespace suf::apps {

// A text that the session is done with; the same whatever its result is.
struct Done {
  Line* line;                                      // gets the error of a result that is zero
  std::optional<roles::Embedding> embedding = {};  // none: it could not be used, and line->error says why
};

// Writes what was added, in order. A slow reader of stdout holds up End alone: until then the queue grows, by
// what a text's result takes (about 10 kB), as rows for --out always have.
class Results {
 public:
  // Throws Cause::kResource when the file of times cannot be made. Its references outlive it. lines of `done` are not
  // to be read before End.
  Results(const EmbedArgs& a, const roles::ModelEngine& engine);
  ~Results();  // writes what is left, without --out
  void Add(Done done);
  // All is on stdout, and in --out; throws what went wrong on the way.
  void End();
  // Whether no further result is wanted: a write failed, or the reader of stdout has gone.
  bool Stop() const { return stop_.load() || OutputGone(); }

 private:
  void Loop();
  void Write(const Done& done);
  void Close();

  const EmbedArgs& a_;
  TimesFile times_;
  const roles::ModelEngine& engine_;
  std::mutex m_;
  std::condition_variable more_;
  std::vector<Done> queue_;
  bool closed_ = false;
  std::exception_ptr failure_;
  std::atomic<bool> stop_{false};
  std::vector<float> embeddings_;  // of the texts that have one, for --out
  std::vector<int64_t> index_;
  std::thread thread_;
};

}  // namespace suf::apps
