// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every exit code of the holt binary, in one table. Scripts depend on them: a number never changes
// its meaning. Commands that run a child keep theirs out of the child's way, as timeout(1) does.

#include <holt/error.hpp>

#include <array>
#include <string_view>

namespace holt::cli {

enum class ExitCode : int {
  ok = 0,
  failed = 1,
  usage = 2,
  not_found = 3,
  not_allowed = 4,
  conflict = 5,
  unreachable = 6,
  interrupted = 130,
  lease_lost = 123,
  not_acquired = 124,
  run_failed = 125,
  not_executable = 126,
  command_missing = 127,
};

struct ExitMeaning {
  ExitCode code;
  std::string_view meaning;
};

inline constexpr std::array exit_meanings{
    ExitMeaning{ExitCode::ok, "done"},
    ExitMeaning{ExitCode::failed, "failed"},
    ExitMeaning{ExitCode::usage, "wrong usage: command, flag or value"},
    ExitMeaning{ExitCode::not_found, "not found, or the condition asked for is false"},
    ExitMeaning{ExitCode::not_allowed, "not allowed"},
    ExitMeaning{ExitCode::conflict, "conflict: somebody else holds it"},
    ExitMeaning{ExitCode::unreachable, "the store cannot be reached or used"},
    ExitMeaning{ExitCode::interrupted, "interrupted (Ctrl-C)"},
};

inline constexpr std::array run_exit_meanings{
    ExitMeaning{ExitCode::lease_lost, "the lease was lost, the command was ended"},
    ExitMeaning{ExitCode::not_acquired, "the lock was not free in time"},
    ExitMeaning{ExitCode::run_failed, "Holt itself failed: wrong usage, store unreachable"},
    ExitMeaning{ExitCode::not_executable, "the command cannot be executed"},
    ExitMeaning{ExitCode::command_missing, "the command was not found"},
};

/// Of a command that runs many, whose ends are not its own.
inline constexpr std::array many_exit_meanings{
    ExitMeaning{ExitCode::ok, "it was told to stop, and has"},
    ExitMeaning{ExitCode::run_failed, "Holt itself failed: wrong usage, store unreachable"},
    ExitMeaning{ExitCode::not_executable, "the command cannot be executed"},
    ExitMeaning{ExitCode::command_missing, "the command was not found"},
};

/// How a command that met this error of the store ends.
[[nodiscard]] ExitCode exit_code_of(ErrorCode code) noexcept;

[[nodiscard]] constexpr int number(ExitCode code) noexcept { return static_cast<int>(code); }

}  // namespace holt::cli
