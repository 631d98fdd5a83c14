// The data owner role (P1): embeds texts with a model that it never sees.
#pragma once
#include <span>
#include <string_view>

#include "suf/model/tokenizer.hpp"
#include "suf/roles/client.hpp"
#include "suf/roles/text_rules.hpp"

namespace suf::roles {

// Converts a text in UTF-8, or a pair, to token ids as Encode does, of at most the plan's tokens.
model::Ids Tokenize(const model::Tokenizer& tokenizer, const nn::Plan& plan, std::string_view text, bool cut = false);
model::Ids Tokenize(const model::Tokenizer& tokenizer, const nn::Plan& plan, const TextInput& text, bool cut = false);

// Returns a result as real numbers: its integers over 2^scale and the divisor (nn::DivisorOf).
std::vector<float> RealsOf(std::span<const int64_t> integers, int scale, int divisor);

// The embedding of one text, with the facts about its job. A batch's embeddings share these facts.
//
// Of a search it has the hits, in the order of their ranks or scores. Of a fetch it also has their documents. The other
// members then describe the search.
struct Embedding : JobResult {
  int scale = 0;
  uint32_t place = 0;  // of the text in its batch, from 0
  int divisor = 1;     // nn::DivisorOf
  int bits = 64;       // of the ring of its words
  std::optional<std::vector<nn::SearchHit>> hits = {};
  std::vector<std::string> documents = {};                   // of the hits, if they were fetched
  std::shared_ptr<const proto::Receipt> fetch_receipt = {};  // as `receipt`
  // Returns the result as integers, ResultWidth of them. A value v means v / 2^scale.
  std::vector<int64_t> Integers() const;
  // Returns the result as real numbers, ResultWidth of them. If it is a unit vector, its norm is 1 up to rounding. All
  // are zero then for a text whose token vectors cancel out.
  std::vector<float> Values() const;
};

// Texts that run in one job.
using TextBatch = std::vector<model::Ids>;
// Returns the size of the job of a batch of texts of one length.
inline JobSize SizeOf(const TextBatch& batch) { return {uint32_t(batch.at(0).size()), uint32_t(batch.size())}; }
// Returns batches of at most `most` texts of one length each, as numbers of texts. Texts keep their order in a batch,
// and a batch has the place of its first text.
std::vector<std::vector<size_t>> BatchesOf(const std::vector<size_t>& lengths, size_t most);
std::vector<size_t> LengthsOf(const std::vector<model::Ids>& texts);
// Moves the texts to the batches that BatchesOf returned.
std::vector<TextBatch> MoveToBatches(std::vector<model::Ids> texts, const std::vector<std::vector<size_t>>& batches);

// A client whose jobs are texts; client.hpp documents its options and errors. The model owner and the dealer learn each
// text's number of tokens, and which index is searched. Nothing else about a text or a result is revealed. A fetch
// always has the documents of k rows, whatever the hits of its search are.
class DataOwner {
 public:
  using Options = ClientOptions;
  DataOwner(ModelEngine& engine, store::Home& home, proto::Dealers dealers, Options options = {});

  // A session with one model owner, over one connection. After an error it has ended.
  class Session {
   public:
    Session(DataOwner& owner, net::Channel& model_owner, uint32_t lanes = 1,
            const std::optional<proto::Network>& link = {}, const SessionPlace& place = {})
        : session_(owner.client_, model_owner, lanes, link, place), owner_(owner) {
      if (owner.documents_) owner.documents_->CheckList(session_.ListOfIndex(owner.engine_.NumberOf(*owner.search_)));
    }
    const std::vector<std::string>& notices() const { return session_.notices(); }
    const std::optional<proto::Network>& link() const { return session_.link(); }
    const Hash& weights() const { return session_.weights(); }
    // Runs the texts one after another, as Client::Session::Run does; returns how many are done. Throws Cause::kInput
    // for an id outside the vocabulary, or a length that the plan does not cover. Then nothing was announced or spent,
    // and the session goes on.
    size_t Run(std::vector<model::Ids> texts, const std::function<void(size_t text, Embedding)>& done);
    // Runs batches, each of texts of one length. `done` receives the embeddings of a batch. Throws as Run does, and
    // Cause::kInput for texts of different lengths in a batch.
    size_t RunBatches(std::vector<TextBatch> batches, const std::function<void(size_t, std::vector<Embedding>)>& done,
                      std::optional<Client::AuditPlaces> places = {});
    // Returns the size of the first job of so many texts.
    JobSize SizeOf(uint32_t tokens, uint32_t texts) const;
    // Waits for the memory of a batch, as Client::Session::Admit does.
    bool Admit(const JobSize& size, const std::function<bool()>& leave) { return session_.Admit(size, leave); }
    // Runs one batch, as Client::Session::RunOne does. `next` is the size of the following one.
    std::variant<std::vector<Embedding>, std::exception_ptr> RunOne(size_t number, TextBatch batch,
                                                                    const JobSize& next = {});
    // See Client::Session.
    bool unspent() const { return session_.unspent() && !searched_; }
    bool stays() const { return session_.stays(); }
    bool audit_failed() const { return session_.audit_failed(); }
    void Stay() { session_.Stay(); }
    void GiveUp() { session_.GiveUp(); }
    // Ends the session: notifies the model owner that no text follows.
    void End() { session_.End(); }

   private:
    std::vector<Embedding> EmbeddingsOf(JobResult ran) const;
    // Returns the hits of a search. If the words name no row, `error` receives that, and there is no hit.
    std::vector<nn::SearchHit> HitsOf(const Embedding& e, std::exception_ptr* error) const;
    JobRequest FetchOf(const std::vector<nn::SearchHit>& hits) const;
    // Fetches the documents of a search's hits. Returns an error behind P0's last frame, which the result may cause.
    std::exception_ptr Fetch(size_t number, const JobSize& next, Embedding* found);
    Client::Session session_;
    const DataOwner& owner_;
    bool searched_ = false;  // the search of a text has ended, and its fetch has not
  };

  // Throws Cause::kInput for an id outside the vocabulary, or a length that the plan does not cover.
  void Check(const model::Ids& text) const;
  // As Client::PlaceAudits.
  Client::AuditPlaces PlaceAudits(size_t jobs) const { return client_.PlaceAudits(jobs); }

 private:
  friend class Session;
  Client client_;
  ModelEngine& engine_;
  const nn::Plan& plan_;
  const PublicTable* table_;  // null: the table is private
  const EngineIndex* const search_;
  const bool fetch_;
  const SealedDocuments* const documents_;  // null: documents come with a fetch
};

}  // namespace suf::roles
