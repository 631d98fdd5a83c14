// The commands `suf receipt check` and `suf receipt show`.
#pragma once
#include <cstdint>
#include <string>

namespace suf::apps {

struct ReceiptCheckArgs {
  std::string file, ca = "ca.pem";
};
int RunReceiptCheck(const ReceiptCheckArgs& a);

struct ReceiptShowArgs {
  std::string file, to;  // to: a folder; empty: none
  uint64_t line = 1;
};
int RunReceiptShow(const ReceiptShowArgs& a);

}  // namespace suf::apps
