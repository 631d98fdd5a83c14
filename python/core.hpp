// A data owner's process as two classes, for the Python package. No Python here.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "suf/net/credentials.hpp"
#include "suf/roles/lanes.hpp"
#include "suf/roles/pull.hpp"
#include "suf/roles/resume_file.hpp"

namespace suf::python {

// The arguments of an encoder.
struct EncoderSettings {
  std::string connect, dealer, certs, store;
  std::string plan = {}, vocabulary = {}, table = {};  // files; empty: pulled, or beside the plan
  std::string index_plan = {};                         // file, of a search; empty: the pulled one
  std::string expect = {};                             // hash of a pulled plan; empty: any
  std::vector<std::string> pins = {};
  std::string variant = "auto", backend = "auto", kernels = {};
  int parallel = 2, streams = 1, traces = 512, window = 64;
  int64_t memory = 0;               // MB; 0: three quarters of the machine's
  double timeout = 60, retry = 60;  // seconds
  bool receipts = false;
  bool search = false;        // texts are searched in an index
  bool fetch = false;         // the documents of hits are fetched
  std::stop_token stop = {};  // ends the opening
};

// The texts of one call. Thread-safe.
class SubmittedTexts {
 public:
  explicit SubmittedTexts(size_t count) : results_(count) {}
  // Waits for that time at most. Returns whether all texts have ended.
  bool Wait(std::chrono::milliseconds time) const;
  // Returns how many texts have ended.
  size_t ended() const;
  // Takes back the texts that have not begun, and returns how many. Those that run end.
  size_t Cancel();
  // Returns a text's result; nothing if it was taken back. Only when all have ended.
  const std::optional<roles::LaneResult>& result(size_t text) const { return results_.at(text); }
  // Closes the file of results. Throws its error, if there is one. Only when all have ended.
  void Finish();

 private:
  friend class EncoderCore;
  void End(size_t text, std::optional<roles::LaneResult> result);

  mutable std::mutex m_;
  mutable std::condition_variable changed_;
  std::vector<std::optional<roles::LaneResult>> results_;
  size_t ended_ = 0;
  std::function<void()> over_;         // called once, when all have ended
  std::weak_ptr<roles::Lanes> lanes_;  // whose threads call End, so it must not end there
  uint64_t first_ = 0;                 // number of the first text in the lanes
  std::vector<size_t> places_;         // of the texts in the lanes, by their number from first_
  std::unique_ptr<roles::ResumeFile> file_;
};

// A data owner that embeds or searches texts at any time, from any thread.
class EncoderCore {
 public:
  // Opens store and plans, and pulls the files that are not named. Makes no session before the first text. Throws the
  // errors of these.
  explicit EncoderCore(EncoderSettings settings);
  ~EncoderCore();  // as Close at once
  const nn::Plan& plan() const { return engine_->plan(); }
  const Hash& hash() const { return engine_->hash(); }
  // Returns the index that texts are searched in; null if they are embedded.
  const roles::EngineIndex* index() const;
  // Returns the name of the variant with this number.
  const std::string& variant(uint32_t number) const { return engine_->variants().at(number).name; }
  // Returns the weights id of the last session; nothing before the first one.
  std::optional<Hash> weights() const;
  // Returns the ids of a text or a pair, of at most `limit` tokens. Throws the errors of roles::Encode.
  model::Ids Tokenize(const roles::TextInput& text, size_t limit, bool cut) const;
  // Adds texts. `over` is called when all have ended, in a thread of the lanes. `resume`, if not empty, is the file
  // that keeps the results. Throws the errors of Lanes::SubmitAll and ResumeFile.
  std::shared_ptr<SubmittedTexts> Submit(std::vector<model::Ids> texts, int priority, int batch,
                                         const std::string& resume, std::function<void()> over);
  // Returns the last wait for a turn that the model owner reported, in milliseconds; 0 if there is none.
  uint32_t wait_ms() const { return wait_ms_; }
  // Connects to the model owner and to the dealer, and hangs up. Throws if one of them cannot be reached.
  void Probe(double seconds) const;
  // Takes no further text, and frees the store. Running texts end well, or at once with their keys burnt.
  void Close(bool at_once) noexcept;
  // Returns notices for the user, each once.
  std::vector<std::string> TakeNotices();

 private:
  void Note(std::string notice);
  roles::PulledFiles FilesFor(const net::Credentials& own) const;
  std::string IndexPlanAmong(const roles::PulledFiles& files) const;
  std::shared_ptr<roles::Lanes> OpenLanes(const net::Credentials& own);
  void Take(SubmittedTexts& call, size_t text, roles::LaneResult result) noexcept;

  const EncoderSettings settings_;
  mutable std::mutex m_;  // guards the members below
  std::vector<std::string> notices_;
  std::optional<Hash> weights_;
  std::atomic<uint32_t> wait_ms_{0};
  std::unique_ptr<net::Credentials> own_;
  std::unique_ptr<pfss::Backend> backend_;
  std::unique_ptr<store::Home> home_;
  std::unique_ptr<roles::ModelEngine> engine_;
  std::optional<model::Tokenizer> tokenizer_;
  std::shared_ptr<roles::Lanes> lanes_;
};

}  // namespace suf::python
