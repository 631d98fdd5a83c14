// Many texts at once, over several sessions of one data owner with one model owner. Each session has a lane of its own
// (docs/design/lanes.md). The model owner may have several processes, and the data owner several dealers
// (docs/design/dealers.md).
#pragma once
#include <functional>
#include <memory>
#include <stop_token>
#include <variant>

#include "suf/roles/data_owner.hpp"

namespace suf::roles {

// The error of a run that failed behind the model owner's last frame. The result may be its cause. So it must not
// change when sessions end, which the model owner sees.
struct LateError {
  std::exception_ptr error;
};
// The result of a text, or the error of its run.
using LaneResult = std::variant<Embedding, std::exception_ptr, LateError>;

// The error of a text that had not begun when its lanes were closed, and of a later one. If its stored bundle was
// already announced, that is lost.
class LanesClosed : public Error {
 public:
  using Error::Error;
};

// A queue of texts, and up to `parallel` sessions that run them. Texts come at any time, from any thread. A session
// opens when more texts wait than open sessions are free for. It outlives a pause. If the model owner ended it during
// the pause, it is opened again. The first session fetches the masked weights and measures the link for all. A text
// whose run failed is run again only with Options::retry, because its keys are burnt; the others go on.
//
// Sessions are spread over the model owner's processes. If a process cannot be reached, its sessions open at another
// one. A text moves with its session as long as nothing is spent on it.
//
// Of several dealers, each text draws one at random before it is announced, and never again (store::Draws). Each dealer
// has sessions of its own. A dealer that cannot be reached fails its texts alone. Thread-safe.
class Lanes {
 public:
  static constexpr int kMost = int(store::kMostLanes);
  static constexpr net::Millis kFirstPause{250}, kLongestPause{30'000};
  struct Options {
    int parallel = 1;  // sessions, 1 to kMost, and at least one for each dealer
    int batch = 1;     // the most texts of one length that run as one job, 1 to nn::kMostTexts.
    // Whether the lanes close when a session fails, before another text begins.
    bool close_on_error = false;
    // The time without a text after which a session notifies the model owner that it stays.
    net::Millis pause{1000};
    // Without audits: RunInLanes has them. `progress` receives the number of a job's first text, and in RunInLanes that
    // of the job in its session. `stop` is polled before each job; true closes the lanes. Callbacks run in the threads
    // of several sessions at once.
    ClientOptions client = {};
    // The time for which a text goes on if its session breaks or cannot be opened (Cause::kPeer). It runs in new
    // sessions, with new keys from the same dealer. The pauses between them grow from kFirstPause to kLongestPause. It
    // begins anew when a text of the worker succeeds. 0: the first such error is the text's. Not in RunInLanes.
    net::Millis retry{0};
    // Called before each such pause; one call at a time.
    std::function<void(const Error&, net::Millis pause)> retries = {};
    uint8_t servers = 1;  // processes of the model owner, which have the same weights id
    // Connects to one of these processes, by number from 0. Ends early when a stop is requested.
    std::function<std::unique_ptr<net::Channel>(std::stop_token, size_t server)> dial = {};
    // Called when a process failed before anything was spent, and another one is tried; one call at a time.
    std::function<void(size_t server, const Error&)> moves = {};
    // Receives each session when it is open, for its notices and its link; one call at a time.
    std::function<void(const DataOwner::Session&)> opened = {};
  };
  // The engine and the store must outlive the lanes. Throws Cause::kInput for options outside their limits, and the
  // errors of DataOwner.
  Lanes(ModelEngine& engine, store::Home& store, proto::Dealers dealers, Options options);
  // As Close does without a stop.
  ~Lanes();
  // Receives a text's result, in one thread for all texts. Neither its pace nor its errors change what the model owner
  // sees. Wait and Close throw the first of its errors, and of `stop`. It must call neither.
  using OnResult = std::function<void(LaneResult)>;
  // Adds a text. Texts of a higher priority run first, others in order. Returns its number: 0, 1, .. Throws
  // Cause::kInput for an id outside the vocabulary, and for a length that the plan does not cover. Throws LanesClosed
  // after Close, and the errors of store::Draws. The text is not added then.
  uint64_t Submit(model::Ids text, int priority, OnResult done);
  // Adds texts before any of them is taken, so that batches do not depend on the pace of sessions. `done` receives the
  // index of a text. `batch` is the most texts of one job with one of these, at most Options::batch. Returns the number
  // of the first one. Throws as Submit does; no text is added then.
  uint64_t SubmitAll(std::vector<model::Ids> texts, int priority, std::function<void(size_t, LaneResult)> done,
                     int batch = nn::kMostTexts);
  // Takes a text back. Returns whether that succeeded; its OnResult is then never called. That
  // fails for a text that a session has begun to run, or has announced with others.
  bool Cancel(uint64_t text);
  // Waits until all texts have their results.
  void Wait();
  // Ends the sessions. Running texts end well; with a stop their channels end at once, and their keys are burnt. Texts
  // that have not begun receive LanesClosed. All results are delivered when it returns.
  void Close(std::stop_token stop = {});

 private:
  struct State;
  std::unique_ptr<State> s_;
};

// Runs these texts over `parallel` sessions, with the audits of `options.client`. Each session has its batches and its
// audits from the beginning, so that audits are at random places. `done` receives each result, one call at a time. If a
// session fails, the others end after their current text, and the first error is thrown. A failed audit ends the others
// at once. Returns how many texts are done: all, unless ClientOptions::stop ended the sessions. Throws the errors of
// Lanes and of Client::Session::Run.
size_t RunInLanes(ModelEngine& engine, store::Home& store, proto::Dealers dealers, Lanes::Options options,
                  std::vector<model::Ids> texts, const std::function<void(size_t text, Embedding)>& done);

}  // namespace suf::roles
