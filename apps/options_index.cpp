// The options of `suf index`.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>

#include "apps/options.hpp"
#include "suf/compiler/choose.hpp"
#include "suf/nn/plan/index_shape.hpp"
#include "suf/roles/index_folder.hpp"

namespace suf::apps {

namespace {

constexpr const char* kDirHelp = "the folder of an index, as suf index create made it";

// Refuses "nan", which is inside every range.
CLI::Validator Number() {
  return {[](std::string& text) {
            return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is no number" : std::string();
          },
          ""};
}

void AddDocuments(CLI::App* c, IndexSource* from) {
  c->add_option("--model", from->model, "model directory")->required();
  c->add_option("--plan", from->plan, "plan file")->required();
  c->add_option(
       "--docs", from->docs,
       Str("a file with {\"id\": .., \"text\": ..} a line, each text of at most ", roles::kMostDocumentText, " bytes"))
      ->required()
      ->option_text("FILE");
}

void AddCapacity(CLI::App* c, int64_t* rows, const std::string& absent) {
  c->add_option("--capacity", *rows,
                Str("rows that the index can hold, 2 to ", nn::kMostIndexRows,
                    ". All of them are computed in every "
                    "search (default: ",
                    absent, ")"))
      ->check(CLI::Range(int64_t{2}, nn::kMostIndexRows))
      ->option_text("N");
}

void AddShape(CLI::App* c, double* recall, std::string* profile) {
  c->add_option(
       "--recall", *recall,
       "the part of the k nearest documents that a search finds on average, 0.01 to 1; 1 is exact (default: 0.995)")
      ->check(CLI::Range(0.01, 1.0))
      ->check(Number())
      ->option_text("R");
  c->add_option("--profile", *profile, "the prices that choose the shape of the search: " + compiler::PricesHelp())
      ->option_text("P");
}

void AddDir(CLI::App* c, std::string* dir) { c->add_option("dir", *dir, kDirHelp)->required(); }

}  // namespace

void AddIndex(CLI::App* app, IndexCommands* all, int* status) {
  auto* index =
      app->add_subcommand("index", "make and change the index of documents that data owners search (model owner)");
  index->require_subcommand(1);

  auto* create = index->add_subcommand(
      "create",
      "embed documents and seal them in a new folder. Its index.json is public, all else is private.\n"
      "Example:  suf index create --model DIR --plan plan.json --docs docs.jsonl --out idx");
  AddDocuments(create, &all->create.from);
  create->add_option("--out", all->create.out, "folder to make")->required()->type_name("DIR");
  create->add_option("--k", all->create.k, "most hits of a search, 1 to 64; at most 16 with their order (default: 10)")
      ->check(CLI::Range(1, 64))
      ->option_text("K");
  AddShape(create, &all->create.recall, &all->create.profile);
  AddCapacity(create, &all->create.capacity, "the documents, rounded up by at most a quarter, at least 256");
  create
      ->add_option(
          "--told", all->create.told,
          "the part of its hits that a data owner learns: their ids, their order, or their scores (default: order)")
      ->check(CLI::IsMember({"ids", "order", "scores"}));
  create
      ->add_option("--fetch", all->create.fetch,
                   "the part of a hit's document that data owners may fetch. With documents, each of them receives 2 "
                   "kB a row, masked, "
                   "at its first fetch. With keys it is 16 bytes a row, and the documents are in the public file "
                   "documents.sealed, which data owners get by another way (default: documents)")
      ->check(CLI::IsMember({"documents", "keys", "none"}));
  create->add_option("--floor", all->create.floor, "the least cosine of a hit, -1 to 1 (default: none)")
      ->check(CLI::Range(-1.0, 1.0))
      ->check(Number())
      ->option_text("C");
  create
      ->add_option("--prompt", all->create.prompt,
                   "name of the prompt before every document, as suf plan show lists them (default: the model's "
                   "default prompt, if it has one)")
      ->option_text("NAME");
  create->add_option("--text-prompt", all->create.text_prompt, "name of the prompt before a text that is searched")
      ->option_text("NAME");
  create->callback([=] { *status = RunIndexCreate(all->create); });

  auto* append = index->add_subcommand("append", "add documents as one more segment");
  AddDir(append, &all->append.dir);
  AddDocuments(append, &all->append.from);
  append->callback([=] { *status = RunIndexAppend(all->append); });

  auto* remove = index->add_subcommand("delete", "delete documents by their ids; the next search misses them");
  AddDir(remove, &all->remove.dir);
  remove->add_option("ids", all->remove.ids, "ids of documents")->required()->type_name("ID");
  remove->callback([=] { *status = RunIndexDelete(all->remove); });

  auto* compact =
      index->add_subcommand("compact", "make one segment of all documents and free deleted rows. Rows get new numbers");
  AddDir(compact, &all->compact.dir);
  AddCapacity(compact, &all->compact.capacity, "as it is");
  auto* plan = compact->add_option("--plan", all->compact.plan, "plan file, for another capacity");
  AddShape(compact, &all->compact.recall, &all->compact.profile);
  compact->get_option("--capacity")->needs(plan);
  plan->needs(compact->get_option("--capacity"));
  compact->callback([=] { *status = RunIndexCompact(all->compact); });

  auto* show = index->add_subcommand("show", "print the state of an index");
  AddDir(show, &all->show.dir);
  show->add_flag("--json", all->show.json, kJsonHelp);
  show->add_flag("--documents", all->show.documents, "also print row and id of each document");
  show->callback([=] { *status = RunIndexShow(all->show); });

  auto* accept = index->add_subcommand(
      "accept",
      "take a folder that was copied or put back as it is; documents that were deleted since are there again");
  AddDir(accept, &all->accept.dir);
  accept->callback([=] { *status = RunIndexAccept(all->accept); });
}

}  // namespace suf::apps
