// The model owner role (P0): answers data owners with its weights.
#pragma once
#include "suf/roles/server.hpp"

namespace suf::roles {

// A server whose data are a model's weights, which never leave it except under masks. It sees no text and no result,
// only each text's number of tokens.
class ModelOwner : public Server {
 public:
  // `weights` is the result of Model::Quantise for the engine's plan. See Server for the rest.
  // With `indexes` (ServeIndexes) data owners may search them.
  ModelOwner(ModelEngine& engine, nn::QuantisedWeights weights, store::Home& home, proto::Dealers dealers,
             Options options = {}, std::vector<std::shared_ptr<ServedIndex>> indexes = {});
};

}  // namespace suf::roles
