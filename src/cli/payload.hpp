// SPDX-License-Identifier: Apache-2.0
#pragma once
// Payloads of tasks as --payload names them: the text itself, with another @ before it if it begins
// with one, @FILE, or - for one per line of standard input. Any bytes are allowed; JSON is a
// convention that nobody checks.

#include <cstddef>
#include <string>
#include <vector>

namespace holt::cli {

/// The payload that `text` says. Throws UsageError.
[[nodiscard]] std::string payload_of(std::string const& text);

/// Lines of standard input, as many at a time as go well together.
class PayloadLines {
 public:
  /// The next ones; none at the end of the input. Waits for one, but not for more: whoever feeds
  /// us slowly is served line by line. Empty lines are passed over. Throws UsageError for a line
  /// that is too long, when those before it have been answered.
  [[nodiscard]] std::vector<std::string> next();

 private:
  [[nodiscard]] bool take_lines(std::vector<std::string>& lines);
  void read_more();

  std::string rest_;        ///< was read, and not taken yet
  std::size_t number_ = 0;  ///< of the last line taken
  bool at_end_ = false;
};

}  // namespace holt::cli
