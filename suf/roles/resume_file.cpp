#include "suf/roles/resume_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "suf/base/foreign.hpp"

namespace suf::roles {
namespace {

// A header, then records. A record has a kind, a text's number, the length of the payload, and a check of these
// fields. The payload follows, and a check of all before.
constexpr std::string_view kMagic = "sufres1\n";
constexpr size_t kRecordFields = 1 + 2 * sizeof(uint32_t), kHeaderCheck = 4;
constexpr size_t kRecordHeader = kRecordFields + kHeaderCheck, kCheck = 8;
enum : uint8_t { kWeightsRecord = 1, kResultRecord = 2, kErrorRecord = 3 };

Bytes HeaderFor(const Hash& plan, std::span<const model::Ids> texts) {
  Sha256 all;
  for (const model::Ids& ids : texts) {
    all.Number(uint64_t{ids.size()});
    for (const auto id : ids) all.Number(int64_t{id});
  }
  Writer w;
  w.Raw(AsView(kMagic));
  w.Raw(plan);
  w.Raw(all.Done());
  w.Put(uint64_t{texts.size()});
  return w.Take();
}

// Returns the check of some bytes, against faults of the disk alone.
std::array<uint8_t, kCheck> CheckOf(View bytes) {
  std::array<uint8_t, kCheck> check;
  std::copy_n(HashOf({bytes}).begin(), check.size(), check.begin());
  return check;
}

size_t WordBytes(int bits) { return size_t(bits + 7) / 8; }

Bytes Encoded(const Embedding& e) {
  Writer w;
  w.Put(e.serial);
  for (const uint32_t v : {e.count, e.texts, e.variant, e.place, uint32_t(e.scale), uint32_t(e.divisor),
                           uint32_t(e.bits), uint32_t(e.words.size())})
    w.Put(v);
  for (const uint64_t word : e.words)
    for (size_t b = 0; b < WordBytes(e.bits); ++b) w.Put(uint8_t(word >> (8 * b)));
  return w.Take();
}

Embedding DecodedResult(View payload) {
  Reader r(payload, "a result");
  Embedding e;
  e.serial = r.Get<uint64_t>();
  e.count = r.Get<uint32_t>();
  e.texts = r.Get<uint32_t>();
  e.variant = r.Get<uint32_t>();
  e.place = r.Get<uint32_t>();
  e.scale = int(r.Get<uint32_t>());
  e.divisor = int(r.Get<uint32_t>());
  e.bits = int(r.Get<uint32_t>());
  const auto count = r.Get<uint32_t>();
  if (e.bits < 1 || e.bits > 64 || r.left() != count * WordBytes(e.bits))
    Fail(Cause::kResource, "a result in the file is damaged; remove the file, and run all texts again");
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t word = 0;
    for (size_t b = 0; b < WordBytes(e.bits); ++b) word |= uint64_t{r.Get<uint8_t>()} << (8 * b);
    e.words.push_back(word);
  }
  return e;
}

}  // namespace

ResumeFile::ResumeFile(const std::string& path, const Hash& plan, std::span<const model::Ids> texts)
    : path_(path), file_(OpenFile(path, O_RDWR | O_CREAT | O_CLOEXEC)), places_(texts.size()) {
  if (flock(file_.get(), LOCK_EX | LOCK_NB))
    Fail(Cause::kInput, path_, " is in use by another process; let that end, or name another file");
  const Bytes header = HeaderFor(plan, texts);
  struct stat s {};
  SUF_CHECK(!fstat(file_.get(), &s));
  if (size_t(s.st_size) < header.size()) {  // new, or cut short by a crash before any record
    Bytes begun(size_t(s.st_size));
    (void)ReadAt(file_.get(), 0, begun, path_);
    const size_t magic = std::min(begun.size(), kMagic.size());
    if (!Equal(View(begun).first(magic), AsView(kMagic).first(magic)))
      Fail(Cause::kInput, path_, " holds no results of suf; name another file");
    if (ftruncate(file_.get(), 0) || lseek(file_.get(), 0, SEEK_SET))
      Fail(Cause::kResource, "cannot write ", path_, ": ", SystemError());
    WriteAll(file_.get(), header, path_);
    Sync(file_.get(), path_);
    SyncDirOf(path_);
    end_ = header.size();
    return;
  }
  Load(header, uint64_t(s.st_size));
}

void ResumeFile::Load(const Bytes& header, uint64_t size) {
  Bytes found(header.size());
  (void)ReadAt(file_.get(), 0, found, path_);
  const auto same = [&](size_t from, size_t bytes) {
    return Equal(View(found).subspan(from, bytes), View(header).subspan(from, bytes));
  };
  if (!same(0, kMagic.size())) Fail(Cause::kInput, path_, " holds no results of suf; name another file");
  if (!same(kMagic.size(), sizeof(Hash)))
    Fail(Cause::kInput, path_, " has results of another plan; use that plan, or name another file");
  if (!same(kMagic.size() + sizeof(Hash), header.size() - kMagic.size() - sizeof(Hash)))
    Fail(Cause::kInput, path_,
         " has results of other texts; bring the same texts in the same order, or name another "
         "file");
  end_ = header.size();
  while (const std::optional<Bytes> record = ReadRecord(size)) {
    const View body = View(*record).first(record->size() - kCheck), payload = body.subspan(kRecordHeader);
    Reader r(body, "a record");
    const auto kind = r.Get<uint8_t>();
    const auto text = r.Get<uint32_t>();
    if (kind == kWeightsRecord && payload.size() == sizeof(Hash))
      weights_ = Reader(payload, "a weights id").GetHash();
    else if ((kind == kResultRecord || kind == kErrorRecord) && text < places_.size() && !Has(text))
      places_[text] = {end_, uint32_t(body.size())};
    else
      Fail(Cause::kResource, path_, " has a record of another kind at byte ", end_,
           "; install the version of suf that wrote it, or name another file");
    done_ += kind != kWeightsRecord;
    end_ += record->size();
  }
  if (ftruncate(file_.get(), off_t(end_)) || lseek(file_.get(), off_t(end_), SEEK_SET) < 0)
    Fail(Cause::kResource, "cannot write ", path_, ": ", SystemError());
}

// Returns the whole record at a place; nothing if none is there.
std::optional<Bytes> ResumeFile::RecordAt(uint64_t at, uint64_t size) const {
  if (at + kRecordHeader + kCheck > size) return std::nullopt;
  Bytes record(kRecordHeader);
  (void)ReadAt(file_.get(), at, record, path_);
  const View fields = View(record).first(kRecordFields);
  if (!Equal(View(CheckOf(fields)).first(kHeaderCheck), View(record).subspan(kRecordFields))) return std::nullopt;
  const uint64_t whole =
      kRecordHeader + Reader(fields.subspan(1 + sizeof(uint32_t)), "a record").Get<uint32_t>() + kCheck;
  if (at + whole > size) return std::nullopt;
  record.resize(whole);
  (void)ReadAt(file_.get(), at, record, path_);
  const View body = View(record).first(whole - kCheck);
  if (!Equal(CheckOf(body), View(record).subspan(body.size()))) return std::nullopt;
  return record;
}

// Returns the record at end_; nothing at the end of the file, or if a crash tore the last record. A record behind a
// torn one means that the file was damaged.
std::optional<Bytes> ResumeFile::ReadRecord(uint64_t size) const {
  std::optional<Bytes> record = RecordAt(end_, size);
  for (uint64_t at = end_ + 1; !record && at < size; ++at)
    if (RecordAt(at, size))
      Fail(Cause::kResource, path_, " is damaged at byte ", end_, "; remove it, and run all texts again");
  return record;
}

std::vector<size_t> ResumeFile::Left() const {
  std::vector<size_t> left;
  for (size_t i = 0; i < places_.size(); ++i)
    if (!Has(i)) left.push_back(i);
  return left;
}

size_t ResumeFile::done() const {
  const std::lock_guard l(m_);
  return done_;
}

std::variant<Embedding, Error> ResumeFile::ResultOf(size_t text) const {
  SUF_CHECK(Has(text));
  Bytes record(places_[text].bytes);
  (void)ReadAt(file_.get(), places_[text].at, record, path_);
  const View payload = View(record).subspan(kRecordHeader);
  if (record[0] == kResultRecord) return DecodedResult(payload);
  Reader r(payload, "an error");
  const auto cause = Cause(r.Get<uint8_t>());
  const View words = r.Raw(r.left());
  return Error(cause, std::string(words.begin(), words.end()));
}

void ResumeFile::UseWeights(const Hash& weights) {
  const std::lock_guard l(m_);
  if (weights_ && *weights_ != weights)
    Fail(Cause::kRefused, "the model owner has other weights than those of the results in ", path_,
         ", so both do not belong together; name another file");
  if (weights_) return;
  Append(kWeightsRecord, 0, weights);
  weights_ = weights;
}

void ResumeFile::Add(size_t text, const Embedding& e) noexcept {
  Keep([&] { Append(kResultRecord, text, Encoded(e)); });
}

void ResumeFile::AddError(size_t text, const Error& e) noexcept {
  Keep([&] {
    Writer w;
    w.Put(uint8_t(e.cause()));
    w.Raw(AsView(std::string_view(e.what())));
    Append(kErrorRecord, text, w.bytes());
  });
}

template <class F>
void ResumeFile::Keep(F&& append) noexcept {
  const std::lock_guard l(m_);
  if (error_) return;
  try {
    append();
    ++done_;
  } catch (const Error& e) {
    error_ = e;
  } catch (const std::exception& e) {
    error_.emplace(Cause::kResource, Message(e));
  }
}

// Appends a record, which is durable when it returns.
void ResumeFile::Append(uint8_t kind, size_t text, View payload) {
  Writer w;
  w.Put(kind);
  w.Put(uint32_t(text));
  w.Put(uint32_t(payload.size()));
  w.Raw(View(CheckOf(w.bytes())).first(kHeaderCheck));
  w.Raw(payload);
  w.Raw(CheckOf(w.bytes()));
  try {
    WriteAll(file_.get(), w.bytes(), path_);
    Sync(file_.get(), path_);
  } catch (...) {
    if (ftruncate(file_.get(), off_t(end_))) {  // the next start drops the torn record
    }
    throw;
  }
  end_ += w.bytes().size();
}

bool ResumeFile::failed() const {
  const std::lock_guard l(m_);
  return error_.has_value();
}

void ResumeFile::Finish() const {
  const std::lock_guard l(m_);
  if (error_) throw *error_;
}

}  // namespace suf::roles
