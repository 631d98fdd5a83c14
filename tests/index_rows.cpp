// Makes the folder of an index from rows of whole numbers, and prints the rows of one. Only tests and the model owner
// may see these.
//
//    index_rows make DIR INDEX_PLAN [ROW..] < ROWS    a line of ROWS is a row; those with a number ROW are deleted
//    index_rows print DIR                             a line for each row: 1, or 0 if it is deleted; then the row
#include <algorithm>
#include <iostream>
#include <sstream>

#include "suf/roles/index_folder.hpp"

namespace {

using namespace suf;

void MakeIndex(const std::vector<std::string>& words) {
  roles::IndexRows rows;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream values(line);
    for (int16_t v = 0; values >> v;) rows.values.push_back(v);
    const std::string id = std::to_string(rows.documents.size());
    rows.documents.push_back({id, "document " + id});
  }
  roles::IndexFolder::Create(words[0], roles::LoadIndexPlan(words[1]), std::move(rows));
  roles::IndexFolder(words[0]).Delete({words.begin() + 2, words.end()});
}

void PrintRows(const std::string& dir) {
  const roles::IndexFolder folder(dir);
  const roles::IndexRows all = folder.Read();
  const auto columns = size_t(folder.index().search.columns);
  for (size_t i = 0; i < all.documents.size(); ++i) {
    std::cout << !std::binary_search(folder.deleted().begin(), folder.deleted().end(), int64_t(i));
    for (size_t j = 0; j < columns; ++j) std::cout << " " << all.values[i * columns + j];
    std::cout << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() >= 3 && words[0] == "make")
      MakeIndex({words.begin() + 1, words.end()});
    else if (words.size() == 2 && words[0] == "print")
      PrintRows(words[1]);
    else
      return 2;
  } catch (const Error& e) {
    std::cerr << "index_rows: " << e.what() << "\n";
    return 1;
  }
}
