// SPDX-License-Identifier: Apache-2.0
#pragma once
// What could stand in place of the last word of a command line, for completion in shells: commands,
// flags, their values, and the names of locks that are held. From the same declarations as the
// parser's.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {

struct Candidate {
  std::string word;
  std::string_view help;  ///< may be empty
};

struct Candidates {
  std::vector<Candidate> all;
  /// Not 0: the line is that of a command to run, which starts after so many words; its own
  /// completion knows more.
  std::size_t command_at = 0;
};

/// `words` is the line behind "holt", its last word incomplete or empty. Asks the store for names
/// if they are wanted; throws what that throws.
[[nodiscard]] Candidates candidates(std::vector<std::string> const& words);

}  // namespace holt::cli
