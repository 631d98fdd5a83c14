#include "suf/roles/model_owner.hpp"

#include "suf/roles/internal/parts.hpp"

namespace suf::roles {

ModelOwner::ModelOwner(ModelEngine& engine, nn::QuantisedWeights weights, store::Home& home, proto::Dealers dealers,
                       Options options, std::vector<std::shared_ptr<ServedIndex>> indexes)
    : Server(engine,
             {.weights = std::move(weights),
              .inputs = [&engine](const nn::QuantisedWeights& w,
                                  run::Inputs& inputs) { ModelInputs(engine.plan(), w, inputs); },
              .inputs_of = [&engine](const nn::QuantisedWeights& w, uint32_t n,
                                     run::Inputs& inputs) { LengthInputs(engine.plan(), w, int(n), inputs); },
              .indexes = std::move(indexes)},
             home, std::move(dealers), std::move(options)) {}

}  // namespace suf::roles
