// The terminal: its width, one line of progress at its bottom, and output that never runs into that line. Lines that
// are longer than its width are folded between words, except JSON.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace suf::apps::screen {

// Returns the current columns of the terminal behind a descriptor; 0 if it is no terminal.
size_t Columns(int fd);

// Returns the columns that UTF-8 text takes on a terminal.
size_t Width(std::string_view text);

// Returns the text if it fits, else its beginning and "..".
std::string Clip(const std::string& text, size_t columns);

// Folds a line into pieces of at most that many columns, with newlines between. If the line has two columns ("name
// what it is"), later pieces are indented to the second. Otherwise they are indented by two spaces more than the line.
std::string Fold(const std::string& line, size_t columns);

// Passes std::cout and std::cerr through the screen while it lives, if they are terminals. A process has one.
class ScreenStreams {
 public:
  ScreenStreams();
  ~ScreenStreams();

 private:
  class Folding;
  std::unique_ptr<Folding> out_, err_;
};

// Shows the line of progress if stderr is a terminal, clipped to its width. An empty text removes the line.
void Show(const std::string& text);

// Removes the line of progress without waiting for a lock, just before the process ends.
void Leave() noexcept;

}  // namespace suf::apps::screen
