// DataOwner (P1): embeds texts with a model that it never sees. The model owner learns each text's number of tokens,
// the dealer likewise; nobody else learns anything of a text or a result.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "suf/model/tokenizer.hpp"
#include "suf/proto/session.hpp"
#include "suf/roles/engine.hpp"
#include "suf/run/times.hpp"

namespace suf::roles {

// Encode: a text in UTF-8 as token ids, [CLS] and [SEP] included. Throws Cause::kInput when it is empty, not UTF-8, or
// longer than the plan covers and not `cut`.
model::Ids Encode(const model::Tokenizer& tokenizer, const nn::Plan& plan, std::string_view text, bool cut = false);

// Embedding: of one text. Whatever its value is, all of it is made the same way; only its reader may look.
struct Embedding {
  std::shared_ptr<const Work> work;
  size_t tokens = 0;
  uint64_t serial = 0;          // of its bundle
  std::vector<uint64_t> words;  // as the protocol reveals them
  int scale = 0;
  run::Times times;  // of the online part
  struct {
    uint64_t p0, p1, p1_offline, setup;
  } bytes = {};  // payload and frame headers: what came and went online, what went before, masked weights (once)
  // Milliseconds: the dealer's work; waiting for keys beyond that, 0 with keys ahead; claim and the frame before.
  double deal_ms = 0, transport_ms = 0, ahead_ms = 0;
  double at_s = 0;  // when it was done, since Run began

  // Integers: value v means v / 2^scale. (ResultWidth)
  std::vector<int64_t> Integers() const;
  // Values: of Euclidean norm 1, up to rounding; all zeros for a text whose token vectors cancel out. (ResultWidth)
  std::vector<float> Values() const;
};

struct DataOwnerOptions {
  proto::Keys keys = {};
  // one_by_one: the keys of a text are asked for when it is due, not while the one before runs. A text is done
  // sooner, all of them later.
  bool one_by_one = false;
  // audits: so many bundles more than the texts of a Run need are opened by the model owner, who checks them; at
  // random places, so that the dealer cannot know which are used. Not with one_by_one, whose pauses would tell it.
  int audits = 0;
  std::function<void(size_t text, double done, const std::string& what)> progress = {};
  std::function<void()> audited = {};  // a bundle pair, and both were as they should be
};

class DataOwner {
 public:
  using Options = DataOwnerOptions;
  // store: its bundles, ledger and masked weights; it outlives the data owner, as the engine does. dealer: how the
  // dealer is reached (ToDealer). Throws Cause::kResource where the store's disk cannot keep keys ahead, Cause::kInput
  // for audits with one_by_one.
  DataOwner(Engine& engine, store::Store& store, proto::DialDealer dealer, Options options = {});

  // Session: with one model owner, over one connection. After an error it is over.
  class Session {
   public:
    // Greets the model owner and fetches its masked weights, once for a store and model (Estimate::setup bytes).
    Session(DataOwner& owner, net::Channel& model_owner);
    ~Session();
    // notices: what a person should know of the masked weights that were in the store.
    const std::vector<std::string>& notices() const;
    // Run: the texts one after another; `done` gets each as soon as it is there, and must not make the next one wait
    // for what it finds in it. Flights and bytes: Estimate. Throws Cause::kRefused when an audit finds a bundle that
    // was dealt wrongly, and the errors of proto::DataSession.
    void Run(std::vector<model::Ids> texts, const std::function<void(size_t text, Embedding)>& done);
    // End: tells the model owner that no text follows.
    void End();

   private:
    struct State;
    std::unique_ptr<State> s_;
  };

 private:
  friend class Session;
  Engine& engine_;
  store::Store& store_;
  proto::DialDealer dealer_;
  const Options options_;
  const proto::BundlePlan plan_;
};

}  // namespace suf::roles
