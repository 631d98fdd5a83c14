// Writes the results of `embed`: lines or rows of JSON on stdout, and the file of --out. It has its own thread, so that
// the session's next frame waits for no reader of stdout. Nor does the frame depend on a result's value. A zero is an
// error that the model owner must not notice.
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

// Returns the name of a result in rows of JSON and in the file of --out. It is "scores" for a classifier, otherwise
// "embedding".
const char* ResultName(const nn::About& about);

// Returns the hits of a search as rows of JSON. `one` is nn::ScoreOfOne. A hit has the document of the same place, if
// there is one.
nlohmann::ordered_json HitsJson(const nn::Search& search, double one, const std::vector<nn::SearchHit>& hits,
                                const std::vector<std::string>& documents);

// A text that the session has finished, whatever its result is.
struct TextResult {
  TextLine* line;                                  // receives the error of a result that is zero
  std::optional<roles::Embedding> embedding = {};  // none: the text was unusable, and line->error says why
};

// Writes the added results in order. A slow reader of stdout delays End alone. Until then the queue grows by about 10
// kB for each text, as the rows for --out always do.
class ResultWriter {
 public:
  // Throws Cause::kResource if the file of times cannot be made. The arguments outlive the object. The lines of added
  // results may be read only after End.
  ResultWriter(const EmbedArgs& a, const roles::ModelEngine& engine);
  ~ResultWriter();  // writes the queued results, but not --out
  void Add(TextResult done);
  // Waits until everything is on stdout, and writes --out. Throws the error of a failed write.
  void End();
  // Returns whether no further result is wanted: a write failed, or the reader of stdout has gone.
  bool Stop() const { return stop_.load() || OutputGone(); }

 private:
  void Loop();
  void Write(const TextResult& done);
  void Close();

  const EmbedArgs& a_;
  TimesFile times_;
  const roles::ModelEngine& engine_;
  std::mutex m_;
  std::condition_variable more_;
  std::vector<TextResult> queue_;
  bool closed_ = false;
  std::exception_ptr failure_;
  std::atomic<bool> stop_{false};
  std::vector<float> values_;  // of the texts that have a result, for --out
  std::vector<int64_t> index_;
  std::thread thread_;
};

}  // namespace suf::apps
