#include "suf/roles/internal/calls.hpp"

#include "suf/roles/files.hpp"

namespace suf::roles {

std::string ReadPlanText(const std::string& path) { return ReadText(path, "the plan ", "make one, or check the path"); }

ProtocolSpec CallSpec(const Hash& hash, int64_t most, const proto::JobUnit& unit, const pfss::Ending& ending,
                      std::function<void(pfss::Trace&, int64_t n)> emit) {
  return {.hash = hash,
          .most = uint32_t(most),
          .unit = unit,
          .ending = ending,
          .emit =
              [most, unit, emit = std::move(emit)](pfss::Trace& t, const store::Job& job) {
                const int64_t n = job.tokens;
                if (n < 1 || n > most)
                  Fail(Cause::kInput, unit.what, " ", n, " ", unit.name, "; the plan covers 1 to ", most, "; ",
                       unit.remedy);
                emit(t, n);
              },
          .masked = {}};
}

ServerData CallData(std::vector<NamedArray> inputs, uint32_t brings, const pfss::Ending& ending,
                    std::function<void(uint32_t n, std::vector<uint64_t> words)> learned) {
  ServerData out;
  out.brings = brings;
  if (!inputs.empty())
    out.inputs = [inputs = std::move(inputs)](const nn::QuantisedWeights&, run::Inputs& to) {
      for (const NamedArray& in : inputs) to.Set(in.name, in.data);
    };
  if (Learns(ending, 0)) out.learned = std::move(learned);
  return out;
}

NamedArray InputNamed(std::string name, WipedVector<uint64_t> words) {
  return {std::move(name), std::make_shared<const WipedVector<uint64_t>>(std::move(words))};
}

}  // namespace suf::roles
