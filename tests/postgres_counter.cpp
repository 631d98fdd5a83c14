// Counts in PostgreSQL, as tests/network/postgres_test.py directs. A line of stdin is a call. A line of stdout is its
// answer. Arguments: the URL, a folder, and the limit of a call in milliseconds.
//
//   `reserve OWNER TEXTS TOKENS QUOTA QUOTA SEARCHES QUOTA`: "held N" or "full SECONDS". A quota of - is none.
//   `confirm N`, `release N`: "ok".
//   `today OWNER`: "today TEXTS TOKENS SEARCHES".
//   `notices`: "notice SENTENCE", repeated, then "ok".
//   `use OWNER QUOTA THREADS`: "one" for each text, then "used TEXTS ERRORS".
//   `search OWNER QUOTA THREADS`: the same with searches and their quota.
//
// `use` and `search` count until the quota is used. They release each third reservation, and go on after errors. The
// answer to a call that throws is "error CAUSE SENTENCE".
#include <atomic>
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "suf/base/error.hpp"
#include "suf/service/postgres_counts.hpp"

namespace {

using namespace suf;
using namespace suf::service;

std::mutex out;

void Say(const std::string& line) {
  const std::lock_guard l(out);
  std::cout << line << std::endl;
}

std::optional<uint64_t> QuotaOf(const std::string& word) {
  if (word == "-") return std::nullopt;
  return std::stoull(word);
}

void Use(PostgresCounts& counts, const std::string& owner, const Amount& amount, const Quota& quota, int threads) {
  std::atomic<int> used = 0, errors = 0;
  const auto run = [&](int t) {
    for (int i = t;;) try {
        const auto answer = counts.Reserve(owner, amount, quota);
        if (std::holds_alternative<RetryAfter>(answer)) return;
        const uint64_t reservation = std::get<uint64_t>(answer);
        if (++i % 3 == 0) {
          counts.Release(reservation);
          continue;
        }
        try {
          counts.Confirm(reservation);
        } catch (const Error&) {
          counts.Release(reservation);
          throw;
        }
        ++used;
        Say("one");
      } catch (const Error&) {
        ++errors;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
  };
  {
    std::vector<std::jthread> all;
    for (int t = 0; t < threads; ++t) all.emplace_back(run, t);
  }
  Say(Str("used ", used, " ", errors));
}

void Answer(PostgresCounts& counts, std::istringstream& words) {
  std::string call, owner;
  words >> call >> owner;
  if (call == "reserve") {
    uint64_t texts = 0, tokens = 0, searches = 0;
    std::string most_texts, most_tokens, most_searches;
    words >> texts >> tokens >> most_texts >> most_tokens >> searches >> most_searches;
    const auto answer = counts.Reserve(owner, {texts, tokens, searches},
                                       {QuotaOf(most_texts), QuotaOf(most_tokens), QuotaOf(most_searches)});
    const auto* full = std::get_if<RetryAfter>(&answer);
    Say(full ? Str("full ", full->seconds) : Str("held ", std::get<uint64_t>(answer)));
  } else if (call == "confirm") {
    counts.Confirm(std::stoull(owner));
    Say("ok");
  } else if (call == "release") {
    counts.Release(std::stoull(owner));
    Say("ok");
  } else if (call == "today") {
    const Amount a = counts.Today(owner);
    Say(Str("today ", a.texts, " ", a.tokens, " ", a.searches));
  } else if (call == "notices") {
    for (const std::string& n : counts.TakeNotices()) Say("notice " + n);
    Say("ok");
  } else if (call == "use" || call == "search") {
    uint64_t quota = 0;
    int threads = 0;
    words >> quota >> threads;
    if (call == "use")
      Use(counts, owner, {1, 32}, {.texts = quota}, threads);
    else
      Use(counts, owner, {1, 32, 1}, {.searches = quota}, threads);
  }
}

}  // namespace

int main(int argc, char** argv) {
  SUF_CHECK(argc == 4);
  try {
    PostgresCounts counts(PostgresAddress::Parse(argv[1]), argv[2], std::chrono::milliseconds(std::stoi(argv[3])));
    Say("ready");
    for (std::string line; std::getline(std::cin, line);) try {
        std::istringstream words(line);
        Answer(counts, words);
      } catch (const Error& e) {
        Say(Str("error ", Name(e.cause()), " ", e.what()));
      }
  } catch (const Error& e) {
    Say(Str("error ", Name(e.cause()), " ", e.what()));
    return 1;
  }
  return 0;
}
