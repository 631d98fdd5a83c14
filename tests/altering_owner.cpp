// Runs a dishonest P0 of a function or a composition for one session. It alters one bit of every word of its own
// randomness, so each of its shares and openings is wrong. Tests check the reaction of P1.
//
//    altering_owner PLAN CERTS DEALER STORE     DEALER is HOST:PORT; prints the port where it listens, and the end
#include <cstdio>

#include "suf/cpu/packed.hpp"
#include "suf/exec/pools.hpp"
#include "suf/roles/composition.hpp"
#include "suf/roles/dial.hpp"
#include "suf/roles/function.hpp"
#include "suf/roles/load_engine.hpp"

namespace {

using namespace suf;

class Altered : public pfss::Randomness {
 public:
  explicit Altered(std::unique_ptr<Randomness> own) : own_(std::move(own)) {}
  std::unique_ptr<SectionReader> SectionAt(int party, int section) const override {
    return std::make_unique<Flipped>(own_->SectionAt(party, section));
  }
  std::array<uint8_t, 16> TreeKey() const override { return own_->TreeKey(); }

 private:
  struct Flipped : SectionReader {
    explicit Flipped(std::unique_ptr<SectionReader> section) : own(std::move(section)) {}
    void Fill(uint64_t offset, std::span<uint8_t> out) const override {
      own->Fill(offset, out);
      for (uint8_t& b : out) b ^= 1;
    }
    std::unique_ptr<SectionReader> own;
  };
  std::unique_ptr<Randomness> own_;
};

class Altering : public pfss::Backend {
 public:
  std::string name() const override { return own_->name(); }
  const pfss::Capabilities& capabilities() const override { return own_->capabilities(); }
  uint32_t prg() const override { return own_->prg(); }
  std::unique_ptr<pfss::Randomness> Expand(pfss::BundleSecrets m) override {
    return std::make_unique<Altered>(own_->Expand(std::move(m)));
  }
  std::unique_ptr<pfss::Executor> Start(const pfss::Schedule& s, Role role) override { return own_->Start(s, role); }

 private:
  std::unique_ptr<pfss::Backend> own_ = cpu::MakePacked(exec::DefaultPools());
};

// Returns the data of a P0 that brings nothing.
roles::ServerData DataOf(const roles::Engine& engine) {
  const auto learned = [](uint32_t, const std::vector<uint64_t>&) {};
  if (auto* f = dynamic_cast<const roles::FunctionEngine*>(&engine)) return roles::ServerDataOf(f->plan(), {}, learned);
  const gates::Composition& c = dynamic_cast<const roles::CompositionEngine&>(engine).composition();
  return roles::ServerDataOf(c, roles::InputWordLists(c.text().inputs.size()), 0, learned);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) Fail(Cause::kInput, "give plan, certificates, dealer and store");
  Altering backend;
  const auto engine = roles::LoadEngine(argv[1], backend);
  const net::Credentials own(argv[2]);
  store::Home store(argv[4]);
  net::Listener listener(own, net::Address::ParseListening("127.0.0.1:0"), {Role::kData}, net::Millis{5000});
  roles::Server::Options options;
  options.over = [&](const roles::PeerName&, const Error* e) {
    std::printf("the session %s\n", e ? e->what() : "ended well");
    listener.Stop();
  };
  roles::Server server(*engine, DataOf(*engine), store,
                       roles::ToDealer(own, net::Address::Parse(argv[3]), net::Millis{5000}), std::move(options));
  std::fprintf(stderr, "listening on port %d\n", listener.port());
  listener.Run([&](net::Channel& ch) { server.Serve(ch); }, [](const Error&) {});
} catch (const suf::Error& e) {
  std::printf("%s: %s\n", Name(e.cause()), e.what());
  return 1;
}
