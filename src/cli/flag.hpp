// SPDX-License-Identifier: Apache-2.0
#pragma once
// A flag as a command declares it. This is the one source of everything that knows about flags:
// the parser, the help, the man pages, completion, and the names of its variable and its key in
// the configuration files.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holt::cli {

struct Command;

struct Flag {
  enum class Scope {
    command,  ///< of one command: HOLT_RUN_TTL, run.ttl
    shared,   ///< means the same wherever it is: HOLT_STORE, store
    none,     ///< can only be given as a flag
  };

  std::string_view names;        ///< "--ttl" or "-o,--output"
  std::string_view placeholder;  ///< empty: takes no value; NAME: completed with names of locks
  std::string_view help;
  Scope scope = Scope::command;
  std::span<std::string_view const> choices{};  ///< what the value can be; empty: anything

  /// True for its long and its short name.
  [[nodiscard]] bool is_named(std::string_view name) const noexcept {
    return name == long_name() || (name != names && name == names.substr(0, names.find(',')));
  }

  [[nodiscard]] bool takes_value() const noexcept { return !placeholder.empty(); }

  /// "--output"
  [[nodiscard]] std::string_view long_name() const noexcept {
    auto const comma = names.find(',');
    return comma == std::string_view::npos ? names : names.substr(comma + 1);
  }
};

/// What is wrong with the value, if that can be seen from the flag alone: not one of its choices,
/// no duration (DURATION), no whole number (COUNT), neither true nor false. Empty when nothing is.
[[nodiscard]] std::string complaint_about(Flag const& flag, std::string_view value);

/// The whole number that the text says; nothing when it says none, or one that is too large.
[[nodiscard]] std::optional<std::uint64_t> parse_count(std::string_view text) noexcept;

/// What complaint_about() lets through for a flag that takes no value.
[[nodiscard]] bool is_true(std::string_view value) noexcept;

/// What it is not: `"xml" is none of table and json; did you mean ...?`
[[nodiscard]] std::string no_choice(std::string_view given,
                                    std::span<std::string_view const> choices);

/// The environment variable of a command's flag; empty when it has none.
[[nodiscard]] std::string variable_name(Command const& command, Flag const& flag);

/// Its key in a configuration file, with the tables it is in: "run.ttl"; empty when it has none.
[[nodiscard]] std::string key_name(Command const& command, Flag const& flag);

}  // namespace holt::cli
