// The time that a shared count adds to a job. Its reservation and its confirmation are one commit of the server each.
// The table has 1,000 owners. Alternates with a statement that writes nothing. tests/network/postgres.py starts a
// server for it.
#include <cstdio>

#include "suf/service/counts_bench.hpp"
#include "suf/service/postgres_counts.hpp"

int main(int argc, char** argv) {
  using namespace suf::service;
  if (argc != 3) {
    std::fprintf(stderr, "give the URL of a database and an empty folder: postgres_counts_bench URL DIR\n");
    return 2;
  }
  PostgresCounts counts(PostgresAddress::Parse(argv[1]), argv[2]);
  MeasureCounts(counts, "postgres counts", "read", [&](int i) { (void)counts.Today(BenchOwner(i)); });
}
