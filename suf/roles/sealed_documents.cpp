#include "suf/roles/sealed_documents.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "suf/base/plural.hpp"

namespace suf::roles {

namespace {

constexpr std::string_view kDocumentsMagic = "SUFDOCS1";
constexpr uint32_t kMostEntry = 1 << 24;

Bytes ContextOf(int64_t row) {
  Writer w;
  w.Put(row);
  return w.Take();
}

}  // namespace

Bytes SealDocument(View key, int64_t row, const std::string& text) {
  Writer plain;
  plain.Put(uint32_t(text.size()));
  plain.Raw(AsView(text));
  Bytes padded = plain.Take();
  padded.resize((padded.size() + kDocumentStep - 1) / kDocumentStep * kDocumentStep);
  const Bytes sealed = SealOnce(key, ContextOf(row), padded);
  Writer w;
  w.Put(uint32_t(sealed.size()));
  w.Raw(sealed);
  return w.Take();
}

Bytes SealedDocumentsHead(const Hash& list) {
  Writer w;
  w.Raw(AsView(kDocumentsMagic));
  w.Raw(list);
  return w.Take();
}

Hash ListOfSealedDocuments(View head) {
  if (head.size() < kSealedDocumentsHead || !Equal(head.first(kDocumentsMagic.size()), AsView(kDocumentsMagic)))
    return {};
  Reader r(head, "the documents");
  (void)r.Raw(kDocumentsMagic.size());
  return r.GetHash();
}

SealedDocuments::SealedDocuments(const std::string& file) : file_(file), fd_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (!fd_) Fail(Cause::kInput, "cannot read the documents ", file, " (", SystemError(), "); check the path");
  const auto refuse = [&] {
    Fail(Cause::kInput, file, " is no file of sealed documents, or is cut short; get documents.sealed from the model ",
         "owner");
  };
  struct stat s {};
  Bytes head(kSealedDocumentsHead);
  if (fstat(fd_.get(), &s) || !S_ISREG(s.st_mode) || ReadAt(fd_.get(), 0, head, file) != head.size()) refuse();
  list_ = ListOfSealedDocuments(head);
  if (list_ == Hash{}) refuse();
  const auto end = uint64_t(s.st_size);
  for (uint64_t at = head.size(); at < end;) {
    Bytes size(sizeof(uint32_t));
    if (ReadAt(fd_.get(), at, size, file) != size.size()) refuse();
    const auto bytes = Reader(size, file).Get<uint32_t>();
    at += size.size();
    if (bytes < kAeadTagBytes || bytes > kMostEntry || bytes > end - at) refuse();
    places_.push_back({at, bytes});
    at += bytes;
  }
}

void SealedDocuments::CheckList(const Hash& list) const {
  if (list_ != list)
    Fail(Cause::kInput, file_,
         " is of another list of the index than the model owner serves; get the newest file from ", "it");
}

std::string SealedDocuments::Open(int64_t row, View key) const {
  if (row < 0 || row >= rows())
    Fail(Cause::kInput, file_, " has ", Plural(rows(), "document"), ", and row ", row,
         " was found; get the newest file from the model owner");
  const DocumentPlace& place = places_[size_t(row)];
  Bytes sealed(place.bytes);
  const bool whole = ReadAt(fd_.get(), place.at, sealed, file_) == sealed.size();
  const auto plain = whole ? OpenSealed(key, ContextOf(row), sealed) : std::nullopt;
  if (!plain || plain->size() < sizeof(uint32_t))
    Fail(Cause::kInput, "the key of row ", row, " does not open its document in ", file_,
         ", which is of another list of the index; get the newest file from the model owner");
  Reader r(*plain, file_);
  const auto length = r.Get<uint32_t>();
  const View text = r.Raw(length);
  return {text.begin(), text.end()};
}

}  // namespace suf::roles
