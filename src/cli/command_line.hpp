// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a command is, and how it reads its arguments.
// A command declares what it accepts on its CommandLine, calls parse(), and works. Only the chosen
// command does so: a tree of all commands would cost more than taking a lock does.
// The parser itself (CLI11) is known to command_line.cpp alone; mistakes are UsageErrors in our
// words.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {

class CommandLine;

struct Command {
  std::string_view words;                   ///< "lock show"
  std::string_view synopsis;                ///< what follows the words: "NAME [options]"
  std::string_view summary;                 ///< one line
  std::string_view examples;                ///< lines, shown first in its help
  std::string_view details;                 ///< paragraphs, shown last; may be empty
  int (*run)(CommandLine& line) = nullptr;  ///< answers the exit status
  bool runs_child = false;                  ///< its failures are ExitCode::run_failed
  bool hidden = false;                      ///< not shown, not suggested
};

class CommandLine {
 public:
  CommandLine(Command const& command, std::vector<std::string> arguments);

  /// Declares an option; `names` as "--ttl" or "-o,--output". The target keeps its value when the
  /// option is not given.
  void flag(std::string_view names, bool& target, std::string_view help);
  void value(std::string_view names, std::string_view placeholder,
             std::optional<std::string>& target, std::string_view help);
  void duration(std::string_view names, std::optional<std::chrono::milliseconds>& target,
                std::string_view help);

  /// Declares the next word that is not an option.
  void word(std::string_view placeholder, std::string& target);
  void optional_word(std::string_view placeholder, std::string& target);

  /// Declares that the first word that is not an option starts a command of its own: it and all
  /// that follows goes to `target`, options too.
  void command_words(std::vector<std::string>& target);

  /// Reads the arguments into the targets. False: help was asked for and has been shown.
  /// Throws UsageError.
  [[nodiscard]] bool parse();

  [[nodiscard]] Command const& command() const noexcept { return command_; }

  /// What the command is about to do, for error messages: `take lock "x"`.
  std::string doing;

  struct Option {
    std::string_view names;
    std::string_view placeholder;  ///< empty: takes no value
    std::string_view help;
    std::function<void(std::string const&)> set;
  };
  [[nodiscard]] std::vector<Option> const& options() const noexcept { return options_; }

 private:
  struct Word {
    std::string_view placeholder;
    std::string* target;
    bool required;
  };

  void assign_words(std::vector<std::string> const& remaining);
  [[noreturn]] void refuse_flag(std::string const& flag) const;
  [[nodiscard]] std::string help_command() const;

  Command const& command_;
  std::vector<std::string> arguments_;
  std::vector<Option> options_;
  std::vector<Word> words_;
  std::vector<std::string>* command_words_ = nullptr;
};

}  // namespace holt::cli
