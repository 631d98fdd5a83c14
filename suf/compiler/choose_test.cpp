// Parsing of profiles, and the time of a bill under their prices.
#include "suf/compiler/choose.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace suf::compiler {
namespace {

std::string Refusal(const std::string& profile) {
  try {
    (void)ParseProfile(profile);
  } catch (const Error& e) {
    EXPECT_EQ(e.cause(), Cause::kInput) << profile;
    return e.what();
  }
  return "";
}

Prices Of(const std::string& text) { return ParseProfile(text).prices; }

TEST(Profile, NamedOnesHaveTheirRoundTripAndRate) {
  for (auto [name, trip] : {std::pair{"lan", 1e-3}, {"balanced", 20e-3}, {"wan", 60e-3}}) {
    const Profile p = ParseProfile(name);
    EXPECT_EQ(p.name, name);
    EXPECT_DOUBLE_EQ(2 * p.prices.flight, trip);
    EXPECT_DOUBLE_EQ(p.prices.wire, 8e-9);
    EXPECT_FALSE(p.says_keys || p.prices.now);
    EXPECT_TRUE(p.prices.duplex);
  }
  EXPECT_EQ(ParseProfile("cpu").source, Profiles()[0].source);
}

TEST(Profile, BothSpellingsAreOne) {
  for (const char* same : {"rtt=20ms,rate=1G", "rtt=0.02,rate=1e9", "flight=10ms,wire=8ns", "flight=0.01,wire=8e-9",
                           "rtt=20000us,rate=1000M", "rtt=0.02s,rate=1000000k"}) {
    EXPECT_DOUBLE_EQ(Of(same).flight, 0.01) << same;
    EXPECT_DOUBLE_EQ(Of(same).wire, 8e-9) << same;
    EXPECT_DOUBLE_EQ(Of(same).block, Of("cpu").block) << same;
  }
  const Prices p = Of("duplex=1,cores=8,disk=2G,keys=now,aes=2G,word=1ns,key=3e-9");
  EXPECT_TRUE(p.duplex && p.now);
  EXPECT_EQ(p.cores, 8);
  EXPECT_DOUBLE_EQ(p.disk, 0.5e-9);
  EXPECT_DOUBLE_EQ(p.block, 0.5e-9);
  EXPECT_DOUBLE_EQ(p.word, 1e-9);
  EXPECT_DOUBLE_EQ(p.key, 3e-9);
  EXPECT_DOUBLE_EQ(Of("thin=20M").thin, 400e-9);
  // prices override a profile whose name comes first
  EXPECT_DOUBLE_EQ(Of("wan,cores=4").flight, 30e-3);
  EXPECT_EQ(Of("wan,cores=4").cores, 4);
  EXPECT_DOUBLE_EQ(Of("gpu,rtt=1ms").word, Of("gpu").word);
  EXPECT_EQ(Of("rtt=0").flight, 0);
}

TEST(Profile, BadOnesAreRefusedWithTheLimitAndTheRemedy) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "the profile is empty; give one of cpu, gpu, lan, balanced, wan, or prices"},
      {"moon", "'moon' is no profile and no price; profiles and prices are cpu, gpu, lan, balanced, wan, or"},
      {"speed=1", "'speed=1' is no profile and no price"},
      {"rtt", "'rtt' is no profile and no price"},
      {"rtt=1,wan", "'wan' is no profile and no price"},
      {"rtt=1,", "'' is no profile and no price"},
      {"rtt=", "the price 'rtt=' is no number from 0 to 10 (seconds of a round trip); give a number of seconds"},
      {"rtt=-1ms", "'rtt=-1ms' is no number from 0 to 10"},
      {"rtt=11", "'rtt=11' is no number from 0 to 10"},
      {"rtt=10001ms", "'rtt=10001ms' is no number"},
      {"rtt=5m", "give a number of seconds, or one with ns, us, ms or s"},
      {"rtt=nan", "'rtt=nan' is no number"},
      {"rtt=inf", "'rtt=inf' is no number"},
      {"flight=6", "'flight=6' is no number from 0 to 5 (seconds of a flight)"},
      {"rate=999",
       "'rate=999' is no number from 1000 to 1e+15 (bits a second on the wire); give a number, or one with k"},
      {"rate=0", "'rate=0' is no number"},
      {"rate=1T", "'rate=1T' is no number"},
      {"wire=1", "'wire=1' is no number from 0 to 0.008 (seconds a byte on the wire)"},
      {"key=1", "'key=1' is no number from 0 to 0.001"},
      {"word=1", "'word=1' is no number from 0 to 0.001"},
      {"aes=0", "'aes=0' is no number from 1000 to 1e+15 (AES blocks a second)"},
      {"disk=1", "'disk=1' is no number from 1000 to 1e+15 (bytes a second of reading bundles)"},
      {"cores=0", "'cores=0' is no number from 1 to 4096 (cores of each role); give a whole number"},
      {"cores=4097", "'cores=4097' is no number from 1 to 4096"},
      {"cores=1.5", "'cores=1.5' is no number from 1 to 4096"},
      {"duplex=2", "'duplex=2' is no number from 0 to 1 (0 or 1: whether both directions are used at once)"},
      {"keys=later", "'keys=later' is no profile and no price"},
      {"rtt=1ms,flight=1ms", "the price 'flight=1ms' is given twice, rtt is two flights and rate one over wire"},
      {"rate=1G,rate=2G", "the price 'rate=2G' is given twice"},
      {"keys=now,keys=now", "the price 'keys=now' is given twice"},
  };
  for (auto [text, sentence] : rows) EXPECT_THAT(Refusal(text), testing::HasSubstr(sentence)) << text;
}

TEST(Profile, KeysAgreeWithTheFlag) {
  for (const char* flag : {"", "ahead", "now"}) {
    Profile silent = ParseProfile("wan"), says = ParseProfile("wan,keys=now");
    SetKeys(&silent, flag);
    EXPECT_EQ(silent.prices.now, std::string(flag) == "now");
    if (std::string(flag) == "ahead") {
      EXPECT_THROW(SetKeys(&says, flag), Error);
      continue;
    }
    SetKeys(&says, flag);
    EXPECT_TRUE(says.prices.now);
  }
}

// Corrections go to P0 if P1 downloads at less than half the rate of the others.
TEST(Profile, KeysToFollowsTheThinLink) {
  for (const Profile& p : Profiles()) EXPECT_EQ(KeysToFor(p.prices), pfss::KeysTo::kBalanced) << p.name;
  EXPECT_EQ(KeysToFor(Of("wan,thin=20M")), pfss::KeysTo::kP0);
  EXPECT_EQ(KeysToFor(Of("wan,thin=500M")), pfss::KeysTo::kBalanced);
  EXPECT_EQ(KeysToFor(Of("rate=100M,thin=100M")), pfss::KeysTo::kBalanced);
}

// Each party's keys take its own link to the dealer.
TEST(Seconds, EachPartyHasItsDealerLink) {
  Bill b;
  b.key = {1000, 100};
  EXPECT_DOUBLE_EQ(Seconds(b, {.wire = 2, .now = true}), 2000);
  EXPECT_DOUBLE_EQ(Seconds(b, {.wire = 2, .now = true, .thin = 30}), 3000);
  b.key = {550, 550};
  EXPECT_DOUBLE_EQ(Seconds(b, {.wire = 2, .now = true, .thin = 30}), 16500);
}

// One machine encrypts, sends and decrypts the keys of both parties. Keys ahead are read side by side.
TEST(Seconds, OneMachineTakesTheKeysOfBoth) {
  Bill b;
  b.key = {1000, 100};
  const Prices now{.wire = 2, .key = 3, .now = true, .together = true}, ahead{.wire = 2, .key = 3, .together = true};
  EXPECT_DOUBLE_EQ(Seconds(b, now), 1100 * (2 + 3));
  EXPECT_DOUBLE_EQ(Seconds(b, ahead), 1000 * 3);
}

// Each party has its own link to the dealer. On one machine every byte counts, and the dealer's work in any case.
TEST(Seconds, OfADelivery) {
  Bill b;
  b.key = {1000, 100};
  b.blocks = {0, 0, 40};
  EXPECT_DOUBLE_EQ(DeliverySeconds(b, {.wire = 2}), 2000);
  EXPECT_DOUBLE_EQ(DeliverySeconds(b, {.wire = 2, .block = 1, .cores = 2, .thin = 30}), 20 + 3000);
  EXPECT_DOUBLE_EQ(DeliverySeconds(b, {.wire = 2, .block = 1, .together = true}), 40 + 2200);
}

// Runs side by side share waiting times, but no wire and no core.
TEST(Seconds, OfTheBusiestPart) {
  Bill b;
  b.sent = {10, 30};
  b.key = {100, 200};
  b.blocks = {5, 1, 1000};
  b.words = {0, 2, 1000};
  b.steps = {{0, 0, false, 5, 0, 10}, {1, 1, true, 1, 2, 30}};
  EXPECT_DOUBLE_EQ(BusySeconds(b, {.flight = 1e6, .wire = 1, .duplex = true}), 30);
  EXPECT_DOUBLE_EQ(BusySeconds(b, {.flight = 1e6, .wire = 1}), 40);
  EXPECT_DOUBLE_EQ(BusySeconds(b, {.block = 7, .word = 3, .duplex = true}), 35);
  EXPECT_DOUBLE_EQ(BusySeconds(b, {.key = 1, .block = 7, .word = 3, .duplex = true, .cores = 2, .step = 5}), 109);
  EXPECT_DOUBLE_EQ(BusySeconds(b, {.block = 7, .word = 3, .duplex = true, .together = true}), 48);
}

// A frame before the inference, then alternate steps of both parties.
TEST(Seconds, StepsAddUp) {
  Bill b;
  b.flights = 3;
  b.sent = {100, 50};
  b.key = {7, 1000};
  b.blocks = {10, 20, 40};
  b.words = {1, 2, 4};
  b.steps = {{-1, 1, false, 5, 1, 10},
             {0, 1, false, 5, 0, 20},
             {1, 0, true, 10, 1, 100},
             {2, 1, true, 10, 1, 20},
             {3, 0, true, 0, 0, 0}};
  Prices p{.flight = 1, .wire = 10, .key = 0.1, .block = 100, .word = 1000};
  EXPECT_DOUBLE_EQ(Seconds(b, p), 3 + 1500 + 100 + 3000 + 3000);
  p.disk = 0.5;
  for (bool duplex : {false, true}) {  // with one frame at a time both are equal
    p.duplex = duplex;
    EXPECT_DOUBLE_EQ(Seconds(b, p), 3 + 1500 + 600 + 3000 + 3000);
  }
  p.cores = 4;
  EXPECT_DOUBLE_EQ(Seconds(b, p), 3 + 1500 + 600 + 750 + 750);
  p.now = true;  // keys use the wire instead of a disk, and the dealer works during the run
  EXPECT_DOUBLE_EQ(Seconds(b, p), 3 + 1500 + 10100 + 7000 / 4.0 + 7000 / 4.0);
}

// With two tiles in turn, both machines and both directions work at once.
TEST(Seconds, TwoTilesOverlap) {
  Bill b;
  for (int tick = 0; tick < 6; ++tick)
    for (int p : {0, 1})
      if (tick > 0 || p == 1) b.steps.push_back({tick, p, p == 1 ? tick > 1 : true, 1, 0, tick < 5 ? 4 : 0});
  EXPECT_DOUBLE_EQ(Seconds(b, {.block = 100}), 600);  // work of one machine
  EXPECT_DOUBLE_EQ(Seconds(b, {.flight = 10}), 50);
  // P1 sends five frames, the first one alone on the wire; P0 sends four, each beside one of P1
  EXPECT_DOUBLE_EQ(Seconds(b, {.wire = 1, .duplex = true}), 20);
  EXPECT_DOUBLE_EQ(Seconds(b, {.wire = 1}), 36);
  EXPECT_DOUBLE_EQ(Seconds(b, {.flight = 10, .block = 100}), 650);
}

}  // namespace
}  // namespace suf::compiler
