// 06: embeddings in twenty lines. The dealer and the model owner run elsewhere (suf deal, suf serve).
//    example_06_embed PLAN VOCABULARY CERTS STORE DEALER MODEL_OWNER TEXT..     DEALER and MODEL_OWNER are HOST:PORT
#include <cstdio>

#include "suf/cpu/packed.hpp"
#include "suf/exec/pools.hpp"
#include "suf/roles/data_owner.hpp"
#include "suf/roles/dial.hpp"
#include "suf/roles/model.hpp"

int main(int argc, char** argv) try {
  using namespace suf;
  if (argc < 8) Fail(Cause::kInput, "give plan, vocabulary, certificates, store, dealer, model owner and texts");
  const auto backend = cpu::MakePacked(exec::DefaultPools());
  roles::ModelEngine engine(roles::LoadPlan(argv[1]), *backend);
  const auto tokenizer = roles::LoadTokenizer(argv[2], engine.plan());
  std::vector<model::Ids> texts;
  for (int i = 7; i < argc; ++i) texts.push_back(roles::Tokenize(tokenizer, engine.plan(), argv[i]));
  const net::Credentials own(argv[3]);
  store::Home store(argv[4]);
  roles::DataOwner me(engine, store, roles::ToDealer(own, net::Address::Parse(argv[5])));
  const auto model_owner = net::Dial(own, net::Address::Parse(argv[6]), Role::kModel);
  roles::DataOwner::Session session(me, *model_owner);
  session.Run(std::move(texts), [](size_t, roles::Embedding e) {
    for (float v : e.Values()) std::printf("%.6f ", v);
    std::printf("\n");
  });
  session.End();
} catch (const suf::Error& e) {
  std::printf("%s: %s\n", Name(e.cause()), e.what());
  return 1;
}
