#include "suf/roles/dealer.hpp"

#include "suf/roles/internal/parts.hpp"

namespace suf::roles {

struct Dealer::State {
  State(Engine& engine, const std::string& dir, Options options)
      : serials(dir),
        generate(engine),
        service(engine.ForProto(Role::kDealer), serials, std::move(options.service),
                [this](proto::DealJob j, store::Sink& p0, store::Sink& p1) { generate(std::move(j), p0, p1); }) {
    generate.dealt = std::move(options.timed);
  }
  store::DealerState serials;
  Generator generate;
  proto::BundleDealer service;
};

Dealer::Dealer(Engine& engine, const std::string& state, Options options)
    : s_(new State(engine, state, std::move(options))) {}
Dealer::~Dealer() = default;
void Dealer::Handle(net::Channel& party) { s_->service.Handle(party); }
void Dealer::Stop() { s_->service.Stop(); }

}  // namespace suf::roles
