// ModelOwner (P0): answers data owners with its weights, which never leave it but under masks. It sees no text and no
// result, only each text's number of tokens.
#pragma once
#include "suf/roles/server.hpp"

namespace suf::roles {

// A server whose part is a model's weights.
class ModelOwner : public Server {
 public:
  // weights: Model::Quantise of the engine's plan.
  ModelOwner(ModelEngine& engine, nn::Quantised weights, store::Store& store, proto::DialDealer dealer,
             Options options = {});
};

}  // namespace suf::roles
