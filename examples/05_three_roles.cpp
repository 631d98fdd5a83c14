// 05: dealer, model owner and data owner over TLS, in one program: three threads stand for three machines. The model is
// a tiny random one, so the embeddings mean nothing, but every word of them is checked.
#include <cstdio>
#include <filesystem>
#include <thread>

#include "suf/cpu/packed.hpp"
#include "suf/exec/pools.hpp"
#include "suf/model/random.hpp"
#include "suf/net/certs.hpp"
#include "suf/roles/compiler.hpp"
#include "suf/roles/data_owner.hpp"
#include "suf/roles/dealer.hpp"
#include "suf/roles/dial.hpp"
#include "suf/roles/model_owner.hpp"
#include "suf/roles/simulator.hpp"

using namespace suf;

namespace {

const std::vector<std::string> kTexts{"the dog sleeps", "a cat is old", "the dog is old"};

// A private directory, removed when the program ends.
struct Folder {
  Folder() : path((std::filesystem::temp_directory_path() / "suf-example-XXXXXX").string()) {
    if (!mkdtemp(path.data())) Fail(Cause::kResource, "cannot make ", path, "; check free space and rights");
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

// A listener on a thread, until the end of the block. If a session fails, its error is printed and the listener goes
// on.
class Serving {
 public:
  Serving(const net::Credentials& own, std::vector<Role> peers, std::function<void(net::Channel&)> session)
      : listener_(own, {"127.0.0.1", 0}, std::move(peers)), thread_([this, session] {
          listener_.Run(session, [](const Error& e) { std::printf("a session ended: %s\n", e.what()); });
        }) {}
  ~Serving() {
    listener_.Stop();
    thread_.join();
  }
  net::Address address() const { return {"127.0.0.1", listener_.port()}; }

 private:
  net::Listener listener_;
  std::thread thread_;
};

int Main() {
  const Folder dir;

  // Before the roles connect, the model owner compiles a plan. It is public, and all three roles get it. A person whom
  // all three trust makes the certificates; each role gets only its own folder.
  model::WriteRandomModel(dir / "model", model::FindPreset("tiny"), 1);
  const roles::Model model(dir / "model");
  roles::Compiler compiler(model, 16);
  compiler.Variants({{"plain", ""}});  // without a network's prices, so nothing is searched; the default is "lan"
  const nn::Plan plan = compiler.Compile(kTexts);
  net::MakeCerts(dir / "certs");
  auto credentials = [&](const char* role) { return net::Credentials(dir / "certs/" + role); };

  // A backend computes; like a thread pool it may be shared by all roles of a process. An Engine is a plan on a
  // backend.
  const auto backend = cpu::MakePacked(exec::DefaultPools());
  roles::ModelEngine engine(plan, *backend);

  // The dealer sees no weight and no text. Its state says which serials are used: never restore it from a copy.
  roles::Dealer dealer(engine, dir / "dealer-state");
  const net::Credentials dealer_own = credentials("dealer");
  Serving dealing(dealer_own, {Role::kModel, Role::kData}, [&](auto& ch) { dealer.Handle(ch); });

  // The model owner keeps its weights and sends them only under masks. Its store holds the ledger and long-lived
  // secrets.
  const net::Credentials model_own = credentials("model");
  store::Home model_store(dir / "model-store");
  roles::ModelOwner owner(engine, model.Quantise(plan), model_store, roles::ToDealer(model_own, dealing.address()));
  Serving serving(model_own, {Role::kData}, [&](auto& ch) { owner.Serve(ch); });

  // The data owner: texts to token ids, one connection, one session, any number of texts.
  const net::Credentials data_own = credentials("data");
  store::Home data_store(dir / "data-store");
  const auto tokenizer = roles::LoadTokenizer(dir / "model/vocab.txt", plan);
  std::vector<model::Ids> ids;
  for (const std::string& text : kTexts) ids.push_back(roles::Tokenize(tokenizer, plan, text));

  // With both model and texts you can simulate: the protocol's result equals the simulator's in every word.
  const roles::Simulator simulator(plan, model);
  size_t equal = 0;
  roles::DataOwner client(engine, data_store, roles::ToDealer(data_own, dealing.address()));
  const auto channel = net::Dial(data_own, serving.address(), Role::kModel);
  roles::DataOwner::Session session(client, *channel);
  session.Run(ids, [&](size_t i, roles::Embedding e) {
    const std::vector<float> v = e.Values();
    std::printf("%-16s %zu tokens, %.0f ms online: %.3f %.3f %.3f ..\n", kTexts[i].c_str(), size_t(e.count),
                e.times.total * 1e3, v[0], v[1], v[2]);
    equal += e.Integers() == simulator.Run({ids[i].data(), ids[i].size()}).y;
  });
  session.End();
  std::printf("%zu of %zu embeddings equal the simulator's\n", equal, kTexts.size());
  return equal == kTexts.size() ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return Main();
  } catch (const Error& e) {  // the cause is for programs, the message for people
    std::printf("%s: %s\n", Name(e.cause()), e.what());
    return 1;
  }
}
