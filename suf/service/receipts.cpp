#include "suf/service/receipts.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <nlohmann/json.hpp>

#include "suf/base/json.hpp"
#include "suf/base/private_files.hpp"
#include "suf/roles/files.hpp"

namespace suf::service {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr uint64_t kReceiptVersion = 1;
constexpr const char *kVersionName = "receipt", *kRestoreReceipt = "take it from a copy that was not changed";
constexpr Role kSigners[] = {Role::kModel, Role::kData};

[[noreturn]] void FailLine(const std::string& why) { Fail(Cause::kRefused, "it ", why, "; ", kRestoreReceipt); }

ordered_json PartOf(const proto::Receipt& r, Role signer) {
  const int p = PartyOf(signer);
  return {{"key", Hex(r.facts.key[p])},
          {"begin", proto::TimeStamp(r.part[p].time.begin_ms)},
          {"end", proto::TimeStamp(r.part[p].time.end_ms)},
          {"signature", Hex(r.part[p].signature)},
          {"certificates", r.certificates[p]}};
}

// Takes the fields of an object. Throws if one is missing, of another type or left over.
class FieldReader {
 public:
  FieldReader(const json& object, std::string of) : object_(object), of_(std::move(of)) {
    if (!object.is_object()) FailLine(Str("has no object", of_));
  }
  const json& Take(const char* name) {
    const auto at = object_.find(name);
    if (at == object_.end()) FailLine(Str("has no field ", name, of_));
    ++taken_;
    return *at;
  }
  const std::string& Text(const char* name) {
    const json& value = Take(name);
    if (!value.is_string()) FailLine(Str("has a field ", name, of_, " that is no text"));
    return value.get_ref<const std::string&>();
  }
  template <class T>
  T Number(const char* name) {
    const json& value = Take(name);
    if (!value.is_number_unsigned() || value.get<uint64_t>() > std::numeric_limits<T>::max())
      FailLine(Str("has a field ", name, of_, " that is no number of 0 to ", std::numeric_limits<T>::max()));
    return value.get<T>();
  }
  template <size_t N>
  std::array<uint8_t, N> Bits(const char* name) {
    const std::string& text = Text(name);
    std::array<uint8_t, N> out;
    try {
      const Bytes bytes = FromHex(text, N, name);
      std::copy(bytes.begin(), bytes.end(), out.begin());
    } catch (const Error&) {
      FailLine(Str("has a field ", name, of_, " that is not ", 2 * N, " digits of hex in lower case"));
    }
    return out;
  }
  uint64_t Time(const char* name) {
    const auto ms = proto::FromTimeStamp(Text(name));
    if (!ms) FailLine(Str("has a field ", name, of_, " that is no time such as 2027-01-31T12:34:56.789Z"));
    return *ms;
  }
  void ExpectAllTaken() const {
    if (taken_ != object_.size()) FailLine(Str("has a field", of_, " that suf does not know"));
  }

 private:
  const json& object_;
  const std::string of_;
  size_t taken_ = 0;
};

void ReadPart(const json& object, Role signer, proto::Receipt* r) {
  const int p = PartyOf(signer);
  FieldReader in(object, Str(" in ", Name(signer)));
  r->facts.key[p] = in.Bits<sizeof(Hash)>("key");
  r->part[p].time.begin_ms = in.Time("begin");
  r->part[p].time.end_ms = in.Time("end");
  r->part[p].signature = in.Bits<sizeof(net::Signature)>("signature");
  r->certificates[p] = in.Text("certificates");
  in.ExpectAllTaken();
}

// Whether a line is an object with the first field of a receipt.
bool LooksLikeAReceipt(std::string_view text) {
  if (text.size() > kMostReceiptBytes) return false;
  try {
    const json line = ReadJson(text, {"it", kRestoreReceipt, Cause::kRefused});
    return line.is_object() && line.contains(kVersionName);
  } catch (const Error&) {
    return false;
  }
}

// Calls f for each line of a file of receipts, without its line feed, with its number, from 1 on.
void ForEachLine(const std::string& path, const std::function<void(uint64_t, std::string_view)>& f) {
  const std::string all = roles::ReadFile(path, "the receipts in ", "name the file that the data owner wrote");
  uint64_t number = 0;
  for (size_t at = 0; at < all.size();) {
    const size_t end = std::min(all.find('\n', at), all.size());
    f(++number, std::string_view(all).substr(at, end - at));
    at = end + 1;
  }
}

uint64_t Apart(uint64_t a, uint64_t b) { return std::max(a, b) - std::min(a, b); }

}  // namespace

std::string Encode(const ReceiptLine& line) {
  const proto::JobFacts& f = line.receipt.facts;
  ordered_json out{{kVersionName, kReceiptVersion},
                   {"plan", Hex(f.plan)},
                   {"weights", Hex(f.weights)},
                   {"tokens", f.tokens},
                   {"texts", f.texts},
                   {"place", line.place},
                   {"variant", f.variant},
                   {"serial", f.serial},
                   {"lane", Hex(f.lane)},
                   {"transcript", Hex(f.transcript)}};
  for (const Role r : kSigners) out[Name(r)] = PartOf(line.receipt, r);
  return out.dump();
}

ReceiptLine ParseReceiptLine(std::string_view text) {
  if (text.size() > kMostReceiptBytes)
    FailLine(Str("has ", text.size(), " bytes, and ", kMostReceiptBytes, " are allowed"));
  const json object = ReadJson(text, {"it", kRestoreReceipt, Cause::kRefused});
  FieldReader in(object, "");
  if (const auto version = in.Number<uint64_t>(kVersionName); version != kReceiptVersion)
    FailLine(Str("is a receipt of version ", version, ", and suf reads version ", kReceiptVersion));
  ReceiptLine line;
  proto::JobFacts& f = line.receipt.facts;
  f.plan = in.Bits<sizeof(Hash)>("plan");
  f.weights = in.Bits<sizeof(Hash)>("weights");
  f.tokens = in.Number<uint32_t>("tokens");
  f.texts = in.Number<uint32_t>("texts");
  line.place = in.Number<uint32_t>("place");
  f.variant = in.Number<uint32_t>("variant");
  f.serial = in.Number<uint64_t>("serial");
  f.lane = in.Bits<sizeof(store::LaneId)>("lane");
  f.transcript = in.Bits<sizeof(Hash)>("transcript");
  for (const Role r : kSigners) ReadPart(in.Take(Name(r)), r, &line.receipt);
  in.ExpectAllTaken();
  if (line.place >= f.texts) FailLine(Str("has place ", line.place, " in a batch of ", f.texts, ", counted from 0"));
  return line;
}

ReceiptFile::ReceiptFile(const std::string& path) : path_(path) {
  fd_ = OpenFile(path, O_RDWR | O_APPEND | O_CREAT);
  if (flock(fd_.get(), LOCK_EX | LOCK_NB))
    Fail(Cause::kRefused, "another process writes receipts to ", path, "; name another file, or wait for its end");
  struct stat s {};
  // other users may be able to read a file that existed
  if (fstat(fd_.get(), &s) || ((s.st_mode & 077) && fchmod(fd_.get(), 0600)))
    Fail(Cause::kResource, "cannot keep other users from the receipts in ", path, " (", SystemError(),
         "); name a file of your own");
  if (const auto size = uint64_t(s.st_size)) {
    std::array<uint8_t, 16> begin{};
    const std::string expected = Str("{\"", kVersionName, "\":");
    (void)ReadAt(fd_.get(), 0, begin, path);
    if (!std::equal(expected.begin(), expected.end(), begin.begin()))
      Fail(Cause::kInput, path, " holds something else than receipts; name another file");
    CutBrokenLine(size);
  } else {
    SyncDirOf(path);
  }
  thread_ = std::thread([this] { Loop(); });
}

// Cuts an incomplete last line off, which a crash or a full disk left. Nobody could check it. A whole receipt without
// its line feed stays.
void ReceiptFile::CutBrokenLine(uint64_t size) {
  Bytes tail(std::min<uint64_t>(size, kMostReceiptBytes));
  (void)ReadAt(fd_.get(), size - tail.size(), tail, path_);
  const auto line = std::find(tail.rbegin(), tail.rend(), uint8_t('\n')).base();
  if (line == tail.end()) return;
  const std::string text(line, tail.end());
  const uint64_t end = size - text.size();
  try {
    (void)ParseReceiptLine(text);
    WriteAll(fd_.get(), AsView("\n"), path_);
    return;
  } catch (const Error& e) {
    if (e.cause() == Cause::kResource) throw;
  }
  if (ftruncate(fd_.get(), off_t(end)))
    Fail(Cause::kResource, "cannot cut an incomplete line off ", path_, " (", SystemError(), "); name another file");
  notice_ = Str("an incomplete receipt of ", size - end, " bytes was cut off the end of ", path_);
}

ReceiptFile::~ReceiptFile() { Close(); }

void ReceiptFile::Add(const proto::Receipt& receipt) {
  {
    const std::lock_guard l(m_);
    queue_.push_back(receipt);
  }
  changed_.notify_one();
}

void ReceiptFile::Loop() {
  try {
    for (;;) {
      std::vector<proto::Receipt> now;
      {
        std::unique_lock l(m_);
        changed_.wait(l, [this] { return closed_ || !queue_.empty(); });
        if (queue_.empty()) return;
        now.swap(queue_);
      }
      std::string lines;
      for (const proto::Receipt& r : now)
        for (uint32_t place = 0; place < r.facts.texts; ++place) lines += Encode({r, place}) + "\n";
      WriteAll(fd_.get(), AsView(lines), path_);
      Sync(fd_.get(), path_);
    }
  } catch (...) {
    error_ = std::current_exception();
    failed_ = true;
  }
}

void ReceiptFile::Close() {
  {
    const std::lock_guard l(m_);
    closed_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ReceiptFile::Finish() {
  Close();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

const net::RoleCertificate& ReceiptChecker::CertificateOf(const std::string& pem, Role role,
                                                          const proto::JobTime& time) {
  auto at = certificates_.find(pem);
  if (at == certificates_.end())
    at = certificates_.emplace(pem, KnownCertificate{{pem, Str("the certificate of ", Title(role))}, {}}).first;
  KnownCertificate& known = at->second;
  for (const uint64_t ms : {time.begin_ms, time.end_ms}) {
    const auto seconds = std::time_t(ms / 1000);
    if (!known.valid || !known.valid->Has(seconds)) known.valid = ca_.Check(known.certificate, seconds);
  }
  return known.certificate;
}

// Finds a serial that stands below an earlier one of its lane, or stands there twice.
std::optional<std::string> ReceiptChecker::CheckOrder(const ReceiptLine& line) {
  const proto::JobFacts& f = line.receipt.facts;
  LaneLines& lane = lanes_[{f.key[1], f.lane}];
  const std::pair own{f.serial, line.place};
  const std::string name = Str("serial ", f.serial, " of lane ", Hex(f.lane));
  if (const auto same = lane.numbers.find(own); same != lane.numbers.end())
    return Str("it repeats ", name, ", place ", line.place, ", of line ", same->second);
  if (!lane.numbers.empty()) {
    const auto& [last, number] = *lane.numbers.rbegin();
    if (own < last)
      return Str("it has ", name, ", place ", line.place, ", behind serial ", last.first, ", place ", last.second,
                 ", of line ", number, "; the lines were moved");
    if (f.serial == last.first && f != lane.facts)
      return Str("it states other facts about ", name, " than line ", number);
  }
  const bool first = lane.numbers.empty() || lane.numbers.rbegin()->first.first != f.serial;
  lane.numbers[own] = totals_.lines;
  lane.facts = f;
  Count(line, first);
  return std::nullopt;
}

void ReceiptChecker::Count(const ReceiptLine& line, bool first) {
  const proto::JobFacts& f = line.receipt.facts;
  const proto::JobTime &model = line.receipt.part[0].time, &data = line.receipt.part[1].time;
  const uint64_t begin = std::min(model.begin_ms, data.begin_ms);
  totals_.first_ms = totals_.right ? std::min(totals_.first_ms, begin) : begin;
  totals_.last_ms = std::max({totals_.last_ms, model.end_ms, data.end_ms});
  totals_.apart_ms =
      std::max({totals_.apart_ms, Apart(model.begin_ms, data.begin_ms), Apart(model.end_ms, data.end_ms)});
  ++totals_.right;
  totals_.jobs += first;
  totals_.models.insert(f.key[0]);
  totals_.owners.insert(f.key[1]);
  totals_.plans.insert(f.plan);
  totals_.weights.insert(f.weights);
  totals_.lanes.insert({f.key[1], f.lane});
}

std::optional<std::string> ReceiptChecker::Check(std::string_view text) {
  ++totals_.lines;
  try {
    const ReceiptLine line = ParseReceiptLine(text);
    const proto::Receipt& r = line.receipt;
    for (const Role signer : kSigners) {
      const int p = PartyOf(signer);
      const net::RoleCertificate& certificate = CertificateOf(r.certificates[p], signer, r.part[p].time);
      if (const auto fault = FaultOf(r.facts, r.part[p], signer, certificate))
        return Str("the part of ", Title(signer), " ", *fault);
    }
    return CheckOrder(line);
  } catch (const Error& e) {
    return e.what();
  }
}

ReceiptChecker::Totals CheckReceipts(const std::string& path, const net::TrustedCa& ca,
                                     const std::function<void(const WrongReceipt&)>& wrong) {
  ReceiptChecker checker(ca);
  std::vector<WrongReceipt> waiting;  // until a line looks like a receipt
  bool known = false;
  ForEachLine(path, [&](uint64_t number, std::string_view text) {
    const auto fault = checker.Check(text);
    known = known || !fault || LooksLikeAReceipt(text);
    if (fault) waiting.push_back({number, *fault});
    if (!known) return;
    for (const WrongReceipt& w : std::exchange(waiting, {})) wrong(w);
  });
  if (!known) Fail(Cause::kInput, roles::FileName(path), " has no receipts; name the file that the data owner wrote");
  return checker.totals();
}

ReceiptLine ReadReceipt(const std::string& path, uint64_t number) {
  std::optional<ReceiptLine> found;
  uint64_t lines = 0;
  ForEachLine(path, [&](uint64_t at, std::string_view text) {
    lines = at;
    if (at == number) try {
        found = ParseReceiptLine(text);
      } catch (const Error& e) {
        Fail(Cause::kRefused, "line ", number, " of ", roles::FileName(path), ": ", e.what());
      }
  });
  if (!found)
    Fail(Cause::kInput, roles::FileName(path), " has ", lines, " lines, and line ", number,
         " is none of them; name a line that exists");
  return std::move(*found);
}

void WriteReceiptParts(const proto::Receipt& receipt, const std::string& folder) {
  MakeDir(folder);
  for (const Role r : kSigners) {
    const int p = PartyOf(r);
    const std::string name = Name(r);
    WriteFile(folder, name + ".txt", AsView(ReceiptText(receipt.facts, r, receipt.part[p].time)));
    WriteFile(folder, name + ".sig", net::DerOf(receipt.part[p].signature));
    WriteFile(folder, name + ".pem", AsView(receipt.certificates[p]));
  }
}

}  // namespace suf::service
