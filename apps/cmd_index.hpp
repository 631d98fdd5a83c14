// The commands of `suf index`: P0 makes and changes the index that data owners search.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "suf/roles/index_folder.hpp"
#include "suf/roles/model.hpp"

namespace suf::apps {

// The model owner's files by which documents become rows.
struct IndexSource {
  std::string model, plan, docs;
};

struct IndexCreateArgs {
  IndexSource from;
  std::string out, profile = "lan", told = "order", fetch = "documents";
  std::optional<std::string> prompt = {};       // of documents; none: the model's default
  std::optional<std::string> text_prompt = {};  // of texts; likewise
  int k = 10;
  double recall = 0.995;
  std::optional<double> floor = {};  // a cosine
  int64_t capacity = 0;              // 0: nn::CapacityFor the documents
};
int RunIndexCreate(const IndexCreateArgs& a);

struct IndexAppendArgs {
  std::string dir;
  IndexSource from;
};
int RunIndexAppend(const IndexAppendArgs& a);

struct IndexDeleteArgs {
  std::string dir;
  std::vector<std::string> ids;
};
int RunIndexDelete(const IndexDeleteArgs& a);

struct IndexCompactArgs {
  std::string dir, plan = {}, profile = "lan";
  int64_t capacity = 0;  // 0: as it is
  double recall = 0.995;
};
int RunIndexCompact(const IndexCompactArgs& a);

struct IndexShowArgs {
  std::string dir;
  bool json = false, documents = false;
};
int RunIndexShow(const IndexShowArgs& a);

struct IndexAcceptArgs {
  std::string dir;
};
int RunIndexAccept(const IndexAcceptArgs& a);

// Throws Cause::kRefused if an index was made with another model: its first document has another row by this one.
void CheckModelOfIndex(const roles::IndexFolder& folder, const nn::Plan& plan, const roles::Model& model);

// The arguments of `suf index`.
struct IndexCommands {
  IndexCreateArgs create;
  IndexAppendArgs append;
  IndexDeleteArgs remove;
  IndexCompactArgs compact;
  IndexShowArgs show;
  IndexAcceptArgs accept;
};

}  // namespace suf::apps
