// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a command is, and how it reads its arguments.
// A command declares what it accepts on its CommandLine, calls parse(), and works. Only the chosen
// command does so: a tree of all commands would cost more than taking a lock does.
// The parser itself (CLI11) is known to command_line.cpp alone; mistakes are UsageErrors in our
// words.
// What is not given as a flag may be set by a variable or in a configuration file (settings.hpp);
// to the command that makes no difference.

#include "cli/flag.hpp"
#include "cli/setting.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::cli {

class CommandLine;
class Settings;

struct Command {
  std::string_view words;                   ///< "lock show"
  std::string_view synopsis;                ///< what follows the words: "NAME [options]"
  std::string_view summary;                 ///< one line
  std::string_view examples;                ///< lines, shown first in its help
  std::string_view details;                 ///< as prose.hpp has it, shown last; may be empty
  int (*run)(CommandLine& line) = nullptr;  ///< answers the exit status
  bool runs_child = false;                  ///< its failures are ExitCode::run_failed
  bool runs_many = false;                   ///< many of them, and its exit code is none of theirs
  bool hidden = false;                      ///< not shown, not suggested
  bool without_files = false;               ///< works even if a configuration file is broken
  std::string_view manual = {};             ///< more, for its manual page; as prose.hpp has it
  std::string_view guide = {};              ///< its page in docs/commands, if it shares one
};

/// A word of a command that is no flag.
struct DeclaredWord {
  std::string_view placeholder;  ///< NAME, PREFIX: of locks; COMMAND, SUBCOMMAND: of holt
  bool required = true;
  std::span<std::string_view const> choices{};
  bool many = false;  ///< as many as there are; the last of all
};

/// What a command accepts.
struct Declared {
  std::vector<Flag> flags;
  std::vector<DeclaredWord> words;  ///< in order
  bool runs_command = false;        ///< then come the words of a command to run
  bool needs_dashes = false;        ///< which start after "--" and nowhere else
};

/// Asks a command what it accepts, without running it.
[[nodiscard]] Declared declared(Command const& command);

class CommandLine {
 public:
  CommandLine(Command const& command, std::vector<std::string> arguments);

  using Scope = Flag::Scope;

  /// Declares an option; `names` as "--ttl" or "-o,--output". The target keeps its value when the
  /// option is not given.
  void flag(std::string_view names, bool& target, std::string_view help);
  void value(std::string_view names, std::string_view placeholder,
             std::optional<std::string>& target, std::string_view help);
  void duration(std::string_view names, std::optional<std::chrono::milliseconds>& target,
                std::string_view help);
  /// A whole number.
  void count(std::string_view names, std::optional<std::uint64_t>& target, std::string_view help);
  /// One of a few words, which live as long as the program.
  void choice(std::string_view names, std::string_view placeholder,
              std::span<std::string_view const> choices, std::optional<std::string>& target,
              std::string_view help, Scope scope = Scope::command);
  /// With its origin, for those to whom that makes a difference after all.
  void setting(std::string_view names, std::string_view placeholder, std::optional<Setting>& target,
               std::string_view help, Scope scope = Scope::command);

  /// Declares that two options exclude each other: where one is set in a place that wins over the
  /// other's, it wins. Set in the same place, both arrive.
  void exclusive(std::string_view one, std::string_view other);

  /// Declares the next word that is not an option.
  void word(std::string_view placeholder, std::string& target);
  void word(std::string_view placeholder, std::span<std::string_view const> choices,
            std::string& target);
  void optional_word(std::string_view placeholder, std::string& target);
  /// One or more, to the end of the line.
  void many_words(std::string_view placeholder, std::vector<std::string>& target);

  /// Declares that the first word that is not an option starts a command of its own: it and all
  /// that follows goes to `target`, options too. Beside optional words nobody could tell where it
  /// starts: there it stands behind "--".
  void command_words(std::vector<std::string>& target);

  /// Reads the arguments and settings into the targets. False: there is nothing to do, as help
  /// was asked for and has been shown, or only the declarations were wanted. So a command calls
  /// this before it does anything else. Throws UsageError.
  [[nodiscard]] bool parse();

  [[nodiscard]] Command const& command() const noexcept { return command_; }

  /// What the command is about to do, for error messages: `take lock "x"`.
  std::string doing;

  /// What was declared.
  [[nodiscard]] Declared declarations() const;

  /// What was given on the command line for this shared flag of any command; else nothing.
  [[nodiscard]] std::optional<Setting> given(Flag const& flag) const;

  /// Which flags were set elsewhere than on the command line, and where, for error messages:
  /// `--ttl by HOLT_RUN_TTL, --store by /etc/holt/config.toml:1`. Empty when none was.
  [[nodiscard]] std::string set_elsewhere() const;

 private:
  struct Word {
    DeclaredWord declared;
    std::string* target;
    std::vector<std::string>* many = nullptr;  ///< instead of target
  };

  struct Option {
    Flag flag;
    std::function<void(Setting const&)> take;  ///< a value that complaint_about() lets through
    std::optional<Setting> given{};
  };
  friend Declared declared(Command const& command);

  [[nodiscard]] bool needs_dashes() const;
  void take_command_behind_dashes();
  [[nodiscard]] std::vector<std::string> words_before_flags();
  [[nodiscard]] std::vector<std::string> parse_flags();
  void assign_words(std::vector<std::string> const& remaining);
  void assign(std::vector<std::string> const& words);
  void add_settings();
  void drop_excluded();
  void take_values();
  [[nodiscard]] Option* find(std::string_view long_name);
  [[noreturn]] void refuse_flag(std::string const& flag) const;
  [[nodiscard]] std::string help_command() const;

  Command const& command_;
  std::vector<std::string> arguments_;
  std::vector<Option> options_;
  std::vector<Word> words_;
  std::vector<std::pair<std::string_view, std::string_view>> exclusive_;
  std::vector<std::string>* command_words_ = nullptr;
  bool parsed_ = false;
  bool only_declares_ = false;
};

}  // namespace holt::cli
