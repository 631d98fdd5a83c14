// The rows of indexes that each data owner may find: the rules of serve --rows, beside indexes that change.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "suf/roles/server.hpp"
#include "suf/service/row_rules.hpp"

namespace suf::apps {

// Thread-safe.
class RowDesk {
 public:
  // `folders` are those of the indexes, in order. Throws the errors of service::RowRules and roles::IndexFolder.
  RowDesk(std::string file, std::vector<std::string> folders, std::shared_ptr<const service::OwnerList> owners);
  // Reads the file again, for this list of owners. If it throws, the old rules stay in force.
  void Read(std::shared_ptr<const service::OwnerList> owners);
  // Returns the rows that a data owner may find in an index, for roles::SeenRows. If the index was compacted since the
  // file was read, reads it again. Numbers in it may then name other documents. So if rules for this index have
  // numbers, their owners find no row until Read.
  std::optional<std::vector<roles::RowsFrom>> Of(const Hash& key, uint32_t index, const Hash& first_segment);

 private:
  struct Rules {
    service::RowRules rules;
    std::vector<Hash> first_segments;  // of the indexes when the file was read
  };
  Rules ReadRules(const service::OwnerList& owners) const;

  const std::string file_;
  const std::vector<std::string> folders_;
  std::mutex m_;  // guards the members below
  std::shared_ptr<const service::OwnerList> owners_;
  Rules rules_;
  std::vector<bool> stale_;  // whether an index was compacted since Read
};

}  // namespace suf::apps
