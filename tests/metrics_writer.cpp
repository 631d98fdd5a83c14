// metrics_writer FILE ROLE: writes a file of metrics, in which every family of the role has values. For
// metrics_test.py, which knows them.
#include <cstdio>
#include <string>

#include "suf/base/foreign.hpp"
#include "suf/service/metrics_file.hpp"

int main(int argc, char** argv) try {
  using namespace suf;
  using namespace suf::service;
  if (argc != 3) {
    std::fprintf(stderr, "metrics_writer FILE model|data|dealer\n");
    return 2;
  }
  const std::string name = argv[2];
  const Role role = name == "model" ? Role::kModel : name == "data" ? Role::kData : Role::kDealer;
  Metrics metrics(role, "1.2.3");
  const StateMark runs = metrics.Enter(InferenceState::kRunning), waits = metrics.Enter(InferenceState::kWaiting);
  const MetricsFile file(argv[1], metrics, {});
  if (role == Role::kModel) metrics.SetOwners({"ann", "bob \"b\" \\ \n", "cid"});
  if (role == Role::kDealer) {
    for (const double s : {0.25, 0.5}) metrics.Dealt(s, 2 * s);
  } else {
    metrics.SetRoundTrip(0.020);
    metrics.Ended("ann", {.texts = 3, .tokens = 96, .waited_s = 0.25, .duration_s = 0.5, .bytes_sent = 1000});
    metrics.Ended("bob \"b\" \\ \n", {.outcome = JobOutcome::kBroken, .tokens = 7, .bytes_received = 500});
    metrics.Ended("dan", {.outcome = JobOutcome::kRefused});
    metrics.CountBundles(BundleFate::kDealt, 2);
  }
  metrics.CountBundles(BundleFate::kUsed);
  metrics.CountBundles(BundleFate::kBurnt);
  metrics.CountBytes(1'000'000'000'000, 1);
  metrics.CountRefusal(net::Refusal::kPartnerGone, role);
  metrics.CountRefusal(net::Refusal::kBusy, role == Role::kDealer ? Role::kModel : Role::kDealer);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", suf::Message(e).c_str());
  return 1;
}
