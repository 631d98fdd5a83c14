// DataOwner (P1): embeds texts with a model that it never sees. The model owner learns each text's number of tokens,
// the dealer likewise; nobody else learns anything of a text or a result.
#pragma once
#include <string_view>

#include "suf/model/tokenizer.hpp"
#include "suf/roles/client.hpp"

namespace suf::roles {

// A text in UTF-8 as token ids, [CLS] and [SEP] included. Throws Cause::kInput when it is empty, not UTF-8, or
// longer than the plan covers and not `cut`.
model::Ids Encode(const model::Tokenizer& tokenizer, const nn::Plan& plan, std::string_view text, bool cut = false);

// Of one text, with what its run was like.
struct Embedding : Ran {
  int scale = 0;
  // Value v means v / 2^scale. (ResultWidth)
  std::vector<int64_t> Integers() const;
  // Of Euclidean norm 1, up to rounding; all zeros for a text whose token vectors cancel out. (ResultWidth)
  std::vector<float> Values() const;
};

// A client (client.hpp says what it throws, and what its options do) whose jobs are texts.
class DataOwner {
 public:
  using Options = ClientOptions;
  DataOwner(ModelEngine& engine, store::Store& store, proto::DialDealer dealer, Options options = {});

  // With one model owner, over one connection. After an error it is over.
  class Session {
   public:
    Session(DataOwner& owner, net::Channel& model_owner) : session_(owner.client_, model_owner), plan_(owner.plan_) {}
    const std::vector<std::string>& notices() const { return session_.notices(); }
    const std::optional<proto::Link>& link() const { return session_.link(); }
    // Runs the texts one after another, as Client::Session::Run; returns how many are done. Before the first is
    // announced it throws Cause::kInput for a text with an id outside the vocabulary, or of a length that the plan does
    // not cover. Nothing is spent then, and the session goes on.
    size_t Run(std::vector<model::Ids> texts, const std::function<void(size_t text, Embedding)>& done);
    // Tells the model owner that no text follows.
    void End() { session_.End(); }

   private:
    Client::Session session_;
    const nn::Plan& plan_;
  };

 private:
  friend class Session;
  Client client_;
  const nn::Plan& plan_;
};

}  // namespace suf::roles
