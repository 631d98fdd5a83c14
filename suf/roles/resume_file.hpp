// The file of the texts of a batch that are done. With it a batch stops at any point, and another process goes on.
#pragma once
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "suf/base/file.hpp"
#include "suf/roles/data_owner.hpp"

namespace suf::roles {

// The file belongs to one plan, one list of texts and one weights id. It holds results in clear, with mode 0600. A text
// is done when its record is durable, whatever its result is. An error of its own is kept as well: a second run would
// show P0 that the first one failed. A record that a crash cut short does not count. Thread-safe.
class ResumeFile {
 public:
  // Opens the file, or begins one. Throws Cause::kInput for a file of another kind, plan or list of texts, and if
  // another process uses it. Throws Cause::kResource if it is damaged, and for an error of the disk.
  ResumeFile(const std::string& path, const Hash& plan, std::span<const model::Ids> texts);
  // Returns the numbers of the texts that are not done, in order.
  std::vector<size_t> Left() const;
  size_t done() const;
  // Returns the result or the error of a text that was done when the file was opened. A result lacks `work`, bytes and
  // times.
  std::variant<Embedding, Error> ResultOf(size_t text) const;
  bool Has(size_t text) const { return places_[text].bytes != 0; }
  // Says of which weights the following results are. Throws Cause::kRefused if the file has results of others.
  void UseWeights(const Hash& weights);
  // Marks a text as done, durably. If the disk refuses, nothing more is added, and Finish throws.
  void Add(size_t text, const Embedding& e) noexcept;
  void AddError(size_t text, const Error& e) noexcept;
  // Whether the disk has refused. No further text may begin then.
  bool failed() const;
  // Throws the error of the disk, Cause::kResource.
  void Finish() const;

 private:
  struct RecordPlace {
    uint64_t at = 0;
    uint32_t bytes = 0;  // 0: not done
  };
  void Load(const Bytes& header, uint64_t size);
  std::optional<Bytes> RecordAt(uint64_t at, uint64_t size) const;
  std::optional<Bytes> ReadRecord(uint64_t size) const;
  void Append(uint8_t kind, size_t text, View payload);
  template <class F>
  void Keep(F&& append) noexcept;

  const std::string path_;
  Fd file_;
  uint64_t end_ = 0;  // of the last whole record
  std::vector<RecordPlace> places_;
  std::optional<Hash> weights_;
  mutable std::mutex m_;  // guards the members below, and those above after the constructor
  size_t done_ = 0;
  std::optional<Error> error_;  // of the disk
};

}  // namespace suf::roles
