// Writes the opened wires of a run in this process (`suf gate run --mirror DIR`). RunGates calls, after run::RunPair:
//
//   WriteMirror(dir, run::OpenedWires(s, backend, secrets, given[2], run.frame));
//
// and ProbeMirror before anything is dealt. RunPair copies the secrets that it needs, so they are still whole.
#pragma once
#include <string>
#include <vector>

#include "suf/run/mirror.hpp"

namespace suf::apps {

// Makes the folder with mode 0700 if it is missing. Throws Cause::kRefused if it has files, and Cause::kResource if it
// cannot be made.
void ProbeMirror(const std::string& dir);
// Writes a file for each wire, and index.txt with a line for each file, in order of the openings. Only the owner can
// read them. A file such as 03_s.txt begins with two lines:
//
//   wire s of s/open, mod 2^40, [2, 3]
//   clear masked sent_by_P0 sent_by_P1
//
// Then each line has an element. A party that sends nothing has no column. If one party alone learns the masked value,
// no message has it, so the columns clear and masked are missing. Numbers are decimal words of the ring. Strings
// (`xor of 5 bits`) are hexadecimal. The columns of index.txt are separated by tabs. Throws like ProbeMirror.
void WriteMirror(const std::string& dir, const std::vector<run::OpenedWire>& wires);

}  // namespace suf::apps
