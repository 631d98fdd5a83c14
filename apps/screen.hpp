// The terminal: how wide it is, one line of progress at its bottom, and output that never runs into that line. Lines
// that are longer than the terminal is wide are folded between words, but for JSON.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace suf::apps::screen {

// Returns the columns of the terminal behind a descriptor, as it is now; 0 if there is none.
size_t Columns(int fd);

// Returns the columns that UTF-8 text takes on a terminal.
size_t Width(std::string_view text);

// Returns the text if it fits, else its beginning and "..".
std::string Clip(const std::string& text, size_t columns);

// Returns a line in pieces of at most that many columns, with newlines between. Pieces after the first are indented to
// the second column of a line that has two ("name   what it is"), else by two spaces more than the line.
std::string Fold(const std::string& line, size_t columns);

// While it lives, std::cout and std::cerr go through the screen if they are terminals. One in a process.
class Streams {
 public:
  Streams();
  ~Streams();

 private:
  class Folding;
  std::unique_ptr<Folding> out_, err_;
};

// Shows the line of progress, if stderr is a terminal; text that is too long is clipped. Empty: none.
void Show(const std::string& text);

// For the process's last moment: takes the line of progress away without waiting for anybody.
void Leave() noexcept;

}  // namespace suf::apps::screen
