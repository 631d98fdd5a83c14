// The data owner role (P1): embeds texts with a model that it never sees.
#pragma once
#include <string_view>

#include "suf/model/tokenizer.hpp"
#include "suf/roles/client.hpp"

namespace suf::roles {

// Converts a text in UTF-8 to token ids, including [CLS] and [SEP]. Throws Cause::kInput if it is empty, not UTF-8, or
// longer than the plan covers. With `cut`, a longer text is cut instead.
model::Ids Tokenize(const model::Tokenizer& tokenizer, const nn::Plan& plan, std::string_view text, bool cut = false);

// The embedding of one text, with the facts about its job.
struct Embedding : JobResult {
  int scale = 0;
  // Returns the result as integers, ResultWidth of them. A value v means v / 2^scale.
  std::vector<int64_t> Integers() const;
  // Returns the result as real numbers, ResultWidth of them. Their Euclidean norm is 1, up to rounding. All are zero
  // for a text whose token vectors cancel out.
  std::vector<float> Values() const;
};

// A client whose jobs are texts; client.hpp documents its options and errors. The model owner and the dealer learn each
// text's number of tokens. Nothing else about a text or a result is revealed.
class DataOwner {
 public:
  using Options = ClientOptions;
  DataOwner(ModelEngine& engine, store::Home& home, proto::DialDealer dealer, Options options = {});

  // A session with one model owner, over one connection. After an error it has ended.
  class Session {
   public:
    Session(DataOwner& owner, net::Channel& model_owner) : session_(owner.client_, model_owner), plan_(owner.plan_) {}
    const std::vector<std::string>& notices() const { return session_.notices(); }
    const std::optional<proto::Network>& link() const { return session_.link(); }
    // Runs the texts one after another, as Client::Session::Run does; returns how many are done. Throws Cause::kInput
    // for an id outside the vocabulary, or a length that the plan does not cover. Then nothing was announced or spent,
    // and the session goes on.
    size_t Run(std::vector<model::Ids> texts, const std::function<void(size_t text, Embedding)>& done);
    // Ends the session: notifies the model owner that no text follows.
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
