// Files of receipts: written, checked, altered.
#include "suf/service/receipts.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "suf/base/scratch_test.hpp"
#include "suf/net/certs.hpp"
#include "suf/net/credentials.hpp"

namespace suf::service {
namespace {

using nlohmann::ordered_json;

// Certificates of one CA, and those of another.
struct TwoCas {
  Scratch dir;
  TwoCas() {
    net::MakeCerts(dir / "a");
    net::MakeCerts(dir / "b");
  }
  static const Scratch& Dir() {
    static const TwoCas all;
    return all.dir;
  }
  static const net::Credentials& Of(Role r, const char* ca = "a") {
    static std::map<std::string, net::Credentials> all;
    const std::string folder = Dir() / (std::string(ca) + "/" + Name(r));
    return all.try_emplace(folder, folder).first->second;
  }
  static net::TrustedCa Ca(const char* ca = "a") { return net::TrustedCa(Dir() / (std::string(ca) + "/data/ca.pem")); }
};

uint64_t NowInMs() { return uint64_t(std::time(nullptr)) * 1000; }

// Signs a receipt of this serial, as both parties.
proto::Receipt SignedReceipt(uint64_t serial, uint32_t texts = 1, store::LaneId lane = {4}, uint64_t at_ms = NowInMs(),
                             const char* ca = "a") {
  proto::Receipt r;
  r.facts = {.plan = {1}, .weights = {2}, .tokens = 32, .texts = texts, .variant = 1, .serial = serial, .lane = lane};
  r.facts.transcript = {uint8_t(serial)};
  for (const Role role : {Role::kModel, Role::kData}) r.facts.key[PartyOf(role)] = TwoCas::Of(role, ca).identity().key;
  for (const Role role : {Role::kModel, Role::kData}) {
    const int p = PartyOf(role);
    const auto signer = TwoCas::Of(role, ca).signer();
    r.part[p].time = {at_ms + uint64_t(p), at_ms + 250};
    r.part[p].signature = signer->Sign(AsView(ReceiptText(r.facts, role, r.part[p].time)));
    r.certificates[p] = signer->certificates();
  }
  return r;
}

std::string ContentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Checks lines as those of one file. Returns "N: fault" for each wrong one.
std::vector<std::string> FaultsOf(const std::vector<std::string>& lines, const char* ca = "a") {
  ReceiptChecker checker(TwoCas::Ca(ca));
  std::vector<std::string> faults;
  for (size_t i = 0; i < lines.size(); ++i)
    if (const auto fault = checker.Check(lines[i])) faults.push_back(Str(i + 1, ": ", *fault));
  EXPECT_EQ(checker.totals().right + faults.size(), lines.size());
  return faults;
}
std::string OnlyFault(const std::vector<std::string>& lines, const char* ca = "a") {
  const auto faults = FaultsOf(lines, ca);
  return faults.size() == 1 ? faults[0] : Str(faults.size(), " faults");
}

TEST(ReceiptLine, IsReadAsItWasWritten) {
  const ReceiptLine line{SignedReceipt(~uint64_t{0}, 3), 2};
  const std::string text = Encode(line);
  EXPECT_EQ(text.find('\n'), text.npos);
  EXPECT_TRUE(text.starts_with("{\"receipt\":1,\"plan\":\"01"));
  const ReceiptLine again = ParseReceiptLine(text);
  EXPECT_EQ(again.receipt.facts, line.receipt.facts);
  EXPECT_EQ(again.place, 2u);
  for (int p : {0, 1}) {
    EXPECT_EQ(again.receipt.part[p].time, line.receipt.part[p].time);
    EXPECT_EQ(again.receipt.part[p].signature, line.receipt.part[p].signature);
    EXPECT_EQ(again.receipt.certificates[p], line.receipt.certificates[p]);
  }
  EXPECT_EQ(Encode(again), text);
  EXPECT_EQ(FaultsOf({Encode({line.receipt, 0}), Encode({line.receipt, 1}), text}), std::vector<std::string>());
}

// Each field is altered in turn, also those of the parts. Every change is named.
TEST(ReceiptChecker, FindsEachAlteredField) {
  const std::string text = Encode({SignedReceipt(17), 0});
  const ordered_json whole = ordered_json::parse(text);
  int fields = 0;
  const auto alter = [](ordered_json& value) {
    if (value.is_number()) {
      value = value.get<uint64_t>() + 1;
      return;
    }
    std::string s = value;
    if (s.ends_with("Z")) {
      s[s.size() - 2] = s[s.size() - 2] == '9' ? '8' : char(s[s.size() - 2] + 1);  // a millisecond
    } else if (s.starts_with("-----")) {
      s[s.size() / 2] = s[s.size() / 2] == 'A' ? 'B' : 'A';
    } else {
      s.back() = s.back() == '0' ? '1' : '0';
    }
    value = s;
  };
  const auto expect_found = [&](const ordered_json& changed, const std::string& name) {
    ++fields;
    EXPECT_EQ(FaultsOf({changed.dump()}).size(), 1u) << name;
  };
  for (const auto& [name, value] : whole.items()) {
    ordered_json changed = whole;
    if (!value.is_object()) {
      alter(changed[name]);
      expect_found(changed, name);
      continue;
    }
    for (const auto& [inner, unused] : value.items()) {
      changed = whole;
      alter(changed[name][inner]);
      expect_found(changed, name + "." + inner);
    }
  }
  EXPECT_EQ(fields, 10 + 2 * 5);
  EXPECT_EQ(FaultsOf({text}), std::vector<std::string>());
}

TEST(ReceiptChecker, NamesTheFault) {
  const proto::Receipt r = SignedReceipt(17);
  const std::string text = Encode({r, 0});
  const auto fault = [&](const std::function<void(ordered_json&)>& change) {
    ordered_json line = ordered_json::parse(text);
    change(line);
    return OnlyFault({line.dump()});
  };
  const auto contains = [](const std::string& whole, const std::string& part) {
    return whole.find(part) == whole.npos ? testing::AssertionFailure() << whole : testing::AssertionSuccess();
  };
  EXPECT_EQ(fault([](auto& l) { l["tokens"] = 33; }), "1: the part of the model owner has a wrong signature");
  EXPECT_EQ(fault([](auto& l) { std::swap(l["model"]["signature"], l["data"]["signature"]); }),
            "1: the part of the model owner has a wrong signature");
  EXPECT_EQ(fault([&](auto& l) { l["data"]["signature"] = Hex(SignedReceipt(18).part[1].signature); }),
            "1: the part of the data owner has a wrong signature");
  EXPECT_EQ(fault([](auto& l) { std::swap(l["model"]["certificates"], l["data"]["certificates"]); }),
            "1: the part of the model owner is with the certificate of the data owner");
  EXPECT_EQ(fault([](auto& l) { l["data"]["certificates"] = TwoCas::Of(Role::kDealer).signer()->certificates(); }),
            "1: the part of the data owner is with the certificate of the dealer");
  EXPECT_TRUE(contains(
      fault([](auto& l) { l["model"]["certificates"] = SignedReceipt(1, 1, {}, NowInMs(), "b").certificates[0]; }),
      "1: the certificate of the model owner is not trusted (it is of another CA than ours, by "));
  EXPECT_TRUE(contains(fault([](auto& l) { l["model"]["certificates"] = "x"; }),
                       "1: the certificate of the model owner is no certificate in PEM"));
  EXPECT_TRUE(contains(fault([](auto& l) { l["receipt"] = 2; }),
                       "1: it is a receipt of version 2, and suf reads version 1; take it from a copy"));
  EXPECT_TRUE(contains(fault([](auto& l) { l["more"] = 2; }), "1: it has a field that suf does not know"));
  EXPECT_TRUE(contains(fault([](auto& l) { l["data"]["more"] = 2; }), "1: it has a field in data that suf does not"));
  EXPECT_TRUE(contains(fault([](auto& l) { l.erase("lane"); }), "1: it has no field lane"));
  EXPECT_TRUE(contains(fault([](auto& l) { l["data"].erase("end"); }), "1: it has no field end in data"));
  EXPECT_TRUE(contains(fault([](auto& l) { l["data"] = 1; }), "1: it has no object in data"));
  EXPECT_TRUE(contains(fault([](auto& l) { l["plan"] = 1; }), "1: it has a field plan that is no text"));
  EXPECT_TRUE(
      contains(fault([](auto& l) { l["plan"] = "00"; }), "1: it has a field plan that is not 64 digits of hex"));
  EXPECT_TRUE(contains(fault([](auto& l) { l["place"] = 1; }), "1: it has place 1 in a batch of 1, counted from 0"));
  for (const ordered_json& bad :
       {ordered_json(-1), ordered_json(1.5), ordered_json("1"), ordered_json(uint64_t{1} << 32)})
    EXPECT_TRUE(
        contains(fault([&](auto& l) { l["tokens"] = bad; }), "field tokens that is no number of 0 to 4294967295"));
  EXPECT_TRUE(contains(fault([](auto& l) { l["model"]["begin"] = "2027-02-30T12:34:56.789Z"; }),
                       "1: it has a field begin in model that is no time such as 2027-01-31T12:34:56.789Z"));
  EXPECT_TRUE(contains(OnlyFault({text.substr(0, 100)}), "1: it is not JSON text: it ends too early"));
  EXPECT_TRUE(contains(OnlyFault({""}), "1: it is not JSON text"));
  EXPECT_TRUE(contains(OnlyFault({"[]"}), "1: it has no object"));
  EXPECT_TRUE(contains(OnlyFault({std::string(kMostReceiptBytes + 1, ' ')}), "1: it has 262145 bytes, and 262144 are"));
}

TEST(ReceiptChecker, TakesTheTimeOfTheReceipt) {
  const uint64_t until = uint64_t(TwoCas::Of(Role::kModel).until()) * 1000;  // the CA is some seconds older
  EXPECT_EQ(FaultsOf({Encode({SignedReceipt(1, 1, {4}, until - 60'000), 0})}), std::vector<std::string>());
  const std::string late = OnlyFault({Encode({SignedReceipt(1, 1, {4}, until), 0})});
  EXPECT_TRUE(late.starts_with("1: the certificate of the model owner's CA is valid from ")) << late;
  const std::string early = OnlyFault({Encode({SignedReceipt(1, 1, {4}, 5000), 0})});
  EXPECT_NE(early.find("and not at 1970-01-01 00:00 UTC"), early.npos) << early;
}

TEST(ReceiptChecker, RefusesAnotherCa) {
  const std::vector<std::string> lines{Encode({SignedReceipt(1), 0}), Encode({SignedReceipt(2), 0})};
  EXPECT_EQ(FaultsOf(lines, "b").size(), 2u);
  EXPECT_NE(FaultsOf(lines, "b")[1].find("2: the certificate of the model owner is not trusted (it is of another CA"),
            std::string::npos);
}

TEST(ReceiptChecker, FindsLinesThatWereMovedOrRepeated) {
  const auto line = [](uint64_t serial, uint32_t texts = 1, uint32_t place = 0, uint8_t lane = 4) {
    return Encode({SignedReceipt(serial, texts, {lane}), place});
  };
  const std::string hex = "04" + std::string(30, '0');
  EXPECT_EQ(FaultsOf({line(3), line(2, 1, 0, 5), line(4, 2, 0), line(4, 2, 1), line(9), line(3, 1, 0, 5)}),
            std::vector<std::string>());
  EXPECT_EQ(OnlyFault({line(3), line(4), line(3)}), "3: it repeats serial 3 of lane " + hex + ", place 0, of line 1");
  EXPECT_EQ(OnlyFault({line(4), line(3)}), "2: it has serial 3 of lane " + hex +
                                               ", place 0, behind serial 4, place 0, of line 1; the lines were moved");
  EXPECT_EQ(
      OnlyFault({line(4, 2, 1), line(4, 2, 0)}),
      "2: it has serial 4 of lane " + hex + ", place 0, behind serial 4, place 1, of line 1; the lines were moved");
  EXPECT_EQ(OnlyFault({line(4, 2, 0), line(4, 3, 1)}),
            "2: it states other facts about serial 4 of lane " + hex + " than line 1");
  // a line that is wrong itself says nothing about others
  std::string forged = line(9);
  forged.replace(forged.find("\"tokens\":32"), 11, "\"tokens\":31");
  EXPECT_EQ(FaultsOf({forged, line(3), line(4)}).size(), 1u);
}

TEST(ReceiptChecker, CountsWhatItFound) {
  ReceiptChecker checker(TwoCas::Ca());
  const uint64_t now = NowInMs();
  for (uint32_t place : {0, 1}) EXPECT_FALSE(checker.Check(Encode({SignedReceipt(3, 2, {4}, now), place})));
  EXPECT_FALSE(checker.Check(Encode({SignedReceipt(3, 1, {5}, now + 5), 0})));
  EXPECT_TRUE(checker.Check("x"));
  const ReceiptChecker::Totals& t = checker.totals();
  EXPECT_EQ(t.lines, 4u);
  EXPECT_EQ(t.right, 3u);
  EXPECT_EQ(t.jobs, 2u);
  EXPECT_EQ(t.lanes.size(), 2u);
  EXPECT_EQ(t.models.size(), 1u);
  EXPECT_EQ(t.first_ms, now);
  EXPECT_EQ(t.last_ms, now + 255);
  EXPECT_EQ(t.apart_ms, 1u);
}

TEST(ReceiptFile, AppendsALineForEachText) {
  Scratch dir;
  const std::string path = dir / "receipts";
  for (uint64_t run : {1, 2}) {
    ReceiptFile file(path);
    file.Add(SignedReceipt(10 * run));
    file.Add(SignedReceipt(10 * run + 1, 3));
    if (run == 1) file.Finish();
  }
  struct stat s {};
  ASSERT_EQ(stat(path.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0600u);
  const auto never = [](const WrongReceipt& w) { ADD_FAILURE() << w.line << ": " << w.why; };
  const auto totals = CheckReceipts(path, TwoCas::Ca(), never);
  EXPECT_EQ(totals.right, 8u);
  EXPECT_EQ(totals.jobs, 4u);
  EXPECT_EQ(ReadReceipt(path, 4).receipt.facts.serial, 11u);
  EXPECT_EQ(ReadReceipt(path, 4).place, 2u);
}

// A crash may cut the last line. The next run cuts off what is left of it, and says so.
TEST(ReceiptFile, CutsAnIncompleteLineOff) {
  Scratch dir;
  const std::string path = dir / "receipts", whole = Encode({SignedReceipt(1), 0});
  const std::pair<std::string, size_t> cases[] = {// the file, and the bytes that are cut off
                                                  {whole + "\n", 0},
                                                  {whole + "\n" + whole.substr(0, 70), 70},
                                                  {whole.substr(0, 70), 70},
                                                  {whole, 0}};
  for (const auto& [content, cut] : cases) {
    std::ofstream(path) << content;
    {
      ReceiptFile file(path);
      EXPECT_EQ(file.notice(),
                cut ? Str("an incomplete receipt of ", cut, " bytes was cut off the end of ", path) : "");
      file.Add(SignedReceipt(3));
      file.Finish();
    }
    const auto never = [](const WrongReceipt& w) { ADD_FAILURE() << w.line << ": " << w.why; };
    EXPECT_EQ(CheckReceipts(path, TwoCas::Ca(), never).right, content.size() > 70 ? 2u : 1u);
  }
}

TEST(ReceiptFile, TakesNoOtherFile) {
  Scratch dir;
  std::ofstream(dir / "notes") << "my notes";
  EXPECT_TRUE(
      Fails(Cause::kInput, "notes holds something else than receipts", [&] { ReceiptFile file(dir / "notes"); }));
  EXPECT_EQ(ContentOf(dir / "notes"), "my notes");
  EXPECT_TRUE(Fails(Cause::kResource, "cannot open", [&] { ReceiptFile file(dir / "none/receipts"); }));
  EXPECT_TRUE(Fails(Cause::kResource, "cannot open", [&] { ReceiptFile file(dir.path); }));
  EXPECT_TRUE(Fails(Cause::kRefused, "/dev/null is no ordinary file", [&] { ReceiptFile file("/dev/null"); }));
  std::filesystem::create_symlink(dir / "notes", dir / "link");
  EXPECT_TRUE(Fails(Cause::kRefused, "is a symbolic link", [&] { ReceiptFile file(dir / "link"); }));
}

TEST(ReceiptFile, ReportsAFullDisk) {
  Scratch dir;
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{3000, before.rlim_max};
  ReceiptFile file(dir / "receipts");
  setrlimit(RLIMIT_FSIZE, &small);
  for (uint64_t serial : {1, 2, 3}) file.Add(SignedReceipt(serial));
  EXPECT_TRUE(Fails(Cause::kResource, "cannot write", [&] { file.Finish(); }));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(file.failed());
}

TEST(CheckReceipts, TellsAnotherFileFromAWrongLine) {
  Scratch dir;
  const std::string path = dir / "file", right = Encode({SignedReceipt(1), 0});
  const auto wrong = [&](const std::string& content) {
    std::ofstream(path, std::ios::trunc) << content;
    std::vector<uint64_t> lines;
    (void)CheckReceipts(path, TwoCas::Ca(), [&](const WrongReceipt& w) { lines.push_back(w.line); });
    return lines;
  };
  for (const char* other : {"", "\n", "some text\n", "{\"schema\":\"suf.embed/1\"}\n", "[1]\n\n"})
    EXPECT_TRUE(Fails(Cause::kInput, "file has no receipts; name the file that the data owner wrote", [&] {
      (void)wrong(other);
    })) << other;
  EXPECT_TRUE(Fails(Cause::kInput, "cannot read the receipts in",
                    [&] { (void)CheckReceipts(dir / "none", TwoCas::Ca(), {}); }));
  EXPECT_EQ(wrong(right), std::vector<uint64_t>());
  EXPECT_EQ(wrong("{\"receipt\":1}\n"), std::vector<uint64_t>{1});
  EXPECT_EQ(wrong("some text\n" + right + "\nmore\n"), (std::vector<uint64_t>{1, 3}));
}

TEST(ReceiptParts, AreTextsSignaturesAndCertificates) {
  Scratch dir;
  const proto::Receipt r = SignedReceipt(5);
  WriteReceiptParts(r, dir / "parts");
  WriteReceiptParts(r, dir / "parts");
  for (const Role role : {Role::kModel, Role::kData}) {
    const std::string begin = dir / (std::string("parts/") + Name(role));
    EXPECT_EQ(ContentOf(begin + ".txt"), ReceiptText(r.facts, role, r.part[PartyOf(role)].time));
    const Bytes der = net::DerOf(r.part[PartyOf(role)].signature);
    EXPECT_EQ(ContentOf(begin + ".sig"), std::string(der.begin(), der.end()));
    EXPECT_EQ(ContentOf(begin + ".pem"), r.certificates[PartyOf(role)]);
  }
  EXPECT_TRUE(Fails(Cause::kResource, "cannot", [&] { WriteReceiptParts(r, dir / "none/parts"); }));
  std::ofstream(dir / "lines") << Encode({r, 0}) << "\nx\n";
  EXPECT_EQ(ReadReceipt(dir / "lines", 1).receipt.facts, r.facts);
  EXPECT_TRUE(Fails(Cause::kRefused, "line 2 of ", [&] { (void)ReadReceipt(dir / "lines", 2); }));
  for (uint64_t none : {0, 3})
    EXPECT_TRUE(Fails(Cause::kInput, Str("lines has 2 lines, and line ", none, " is none of them"),
                      [&] { (void)ReadReceipt(dir / "lines", none); }));
}

}  // namespace
}  // namespace suf::service
