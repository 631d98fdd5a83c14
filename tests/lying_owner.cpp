// Runs a dishonest P0 of a model for one session. It signs its part of a receipt wrongly, or the part does not come in
// time. Tests check that P1 fails a text in the same way for every result.
//
//    lying_owner HOW PLAN MODEL CERTS DEALER STORE     DEALER is HOST:PORT; prints the port where it listens, and the
//    end
//
//    HOW: text     signs another text than that of the job
//         key      signs by a key that its certificate does not have
//         missing  its last frame lacks the part
//         late     the part follows in a frame of its own
//         never    its last frame does not come
//         not      signs as it should
#include <cstdio>
#include <string_view>

#include "suf/cpu/packed.hpp"
#include "suf/exec/pools.hpp"
#include "suf/net/tls.hpp"
#include "suf/proto/internal/altering_channel.hpp"
#include "suf/proto/receipt.hpp"
#include "suf/roles/dial.hpp"
#include "suf/roles/model.hpp"
#include "suf/roles/model_owner.hpp"

namespace {

using namespace suf;

// The key of our certificate, or that of the data owner's folder, as if it were ours.
class LyingSigner final : public net::Signer {
 public:
  LyingSigner(std::string_view how, std::shared_ptr<const net::Signer> own, std::shared_ptr<const net::Signer> other)
      : how_(how), own_(std::move(own)), other_(std::move(other)) {}
  net::Signature Sign(View text) const override {
    if (how_ == "key") return other_->Sign(text);
    std::string changed(text.begin(), text.end());
    if (how_ == "text") changed[changed.find("tokens ") + 7] ^= 1;
    return own_->Sign(AsView(changed));
  }
  const std::string& certificates() const override { return own_->certificates(); }

 private:
  const std::string_view how_;
  const std::shared_ptr<const net::Signer> own_, other_;
};

// Returns the frames in place of one that P0 sends. Only the frame that has P0's part changes.
std::vector<Bytes> Alter(std::string_view how, uint16_t kind, Bytes payload) {
  if (kind != net::kOnlineEnd || (how != "missing" && how != "late" && how != "never")) return {std::move(payload)};
  if (how == "never") return {};
  SUF_CHECK(payload.size() > proto::kSignedTimeBytes);
  const auto part = payload.end() - ssize_t(proto::kSignedTimeBytes);
  std::vector<Bytes> frames{Bytes(payload.begin(), part)};
  if (how == "late") frames.emplace_back(part, payload.end());
  return frames;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 7) Fail(Cause::kInput, "give how, plan, model, certificates, dealer and store");
  const std::string_view how = argv[1];
  const std::string certs = argv[4];
  constexpr net::Millis kTimeout{60'000};
  const auto backend = cpu::MakePacked(exec::DefaultPools());
  roles::ModelEngine engine(roles::LoadPlan(argv[2]), *backend);
  const net::Credentials own(certs + "/model");
  const auto signer = std::make_shared<LyingSigner>(how, own.signer(), net::Credentials(certs + "/data").signer());
  store::Home store(argv[6]);
  net::Listener listener(own, net::Address::ParseListening("127.0.0.1:0"), {Role::kData}, kTimeout);
  roles::Server::Options options;
  options.over = [&](const roles::PeerName&, const Error* e) {
    std::printf("the session %s\n", e ? e->what() : "ended well");
    listener.Stop();
  };
  roles::ModelOwner server(engine, roles::Model(argv[3]).Quantise(engine.plan()), store,
                           roles::ToDealer(own, net::Address::Parse(argv[5]), kTimeout), std::move(options));
  std::fprintf(stderr, "listening on port %d\n", listener.port());
  listener.Run(
      [&](net::Channel& ch) {
        std::vector<proto::PassedFrame> passed;
        proto::AlteringChannel lying(
            ch, [&](uint16_t kind, Bytes payload) { return Alter(how, kind, std::move(payload)); }, passed);
        lying.SetSigner(signer, ch.peer_certificates());
        server.Serve(lying);
      },
      [](const Error&) {});
} catch (const suf::Error& e) {
  std::printf("%s: %s\n", Name(e.cause()), e.what());
  return 1;
}
