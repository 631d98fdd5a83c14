#include "apps/row_desk.hpp"

#include <map>

#include "apps/log.hpp"
#include "apps/role.hpp"
#include "suf/roles/index_folder.hpp"

namespace suf::apps {

namespace {

// An index while rules are read. Its documents are read when a rule names the first one.
class RowsOfFolder {
 public:
  explicit RowsOfFolder(const std::string& folder) : folder_(folder, roles::IndexAccess::kRead) {}
  int64_t rows() const { return folder_.rows(); }
  Hash first_segment() const { return folder_.segments().empty() ? Hash{} : folder_.segments()[0].id; }
  std::optional<int64_t> RowOf(const std::string& id) {
    if (!rows_) rows_ = folder_.LiveRows();
    const auto at = rows_->find(id);
    return at == rows_->end() ? std::nullopt : std::optional(at->second);
  }

 private:
  roles::IndexFolder folder_;
  std::optional<std::map<std::string, int64_t>> rows_;
};

}  // namespace

RowDesk::RowDesk(std::string file, std::vector<std::string> folders, std::shared_ptr<const service::OwnerList> owners)
    : file_(std::move(file)),
      folders_(std::move(folders)),
      owners_(std::move(owners)),
      rules_(ReadRules(*owners_)),
      stale_(folders_.size()) {}

RowDesk::Rules RowDesk::ReadRules(const service::OwnerList& owners) const {
  std::vector<std::shared_ptr<RowsOfFolder>> open;
  std::vector<service::IndexRowsView> views;
  std::vector<Hash> first;
  for (const std::string& folder : folders_) {
    const auto of = open.emplace_back(std::make_shared<RowsOfFolder>(folder));
    views.push_back({of->rows(), [of](const std::string& id) { return of->RowOf(id); }});
    first.push_back(of->first_segment());
  }
  Rules made{service::RowRules::Read(file_, owners, views), std::move(first)};
  Warn("serve", made.rules.notices());
  return made;
}

void RowDesk::Read(std::shared_ptr<const service::OwnerList> owners) {
  Rules made = ReadRules(*owners);
  const std::lock_guard l(m_);
  owners_ = std::move(owners);
  rules_ = std::move(made);
  stale_.assign(folders_.size(), false);
}

std::optional<std::vector<roles::RowsFrom>> RowDesk::Of(const Hash& key, uint32_t index, const Hash& first_segment) {
  const std::lock_guard l(m_);
  const service::Owner* const owner = owners_->Find(key);
  if (!owner) return std::vector<roles::RowsFrom>();
  if (rules_.first_segments[index - 1] != first_segment) try {
      Rules made = ReadRules(*owners_);
      for (size_t i = 0; i < folders_.size(); ++i)
        if (made.first_segments[i] != rules_.first_segments[i]) stale_[i] = true;
      rules_ = std::move(made);
      if (rules_.rules.HasNumbers(index))
        log::Warn(Str("serve: index ", index, " was compacted, and ", file_,
                      " names rows by number; the owners that it names find nothing there until SIGHUP"));
    } catch (const Error& e) {
      log::Warn(Str("serve: index ", index, " was compacted, and nobody finds anything in it: ", e.what()));
      return std::vector<roles::RowsFrom>();
    }
  if (rules_.rules.SeesAll(owner->name, index)) return std::nullopt;
  if (rules_.first_segments[index - 1] != first_segment || (stale_[index - 1] && rules_.rules.HasNumbers(index)))
    return std::vector<roles::RowsFrom>();
  std::vector<roles::RowsFrom> rows;
  for (const service::RowSpan& s : rules_.rules.Of(owner->name, index)) rows.push_back({s.first, s.end});
  return rows;
}

}  // namespace suf::apps
