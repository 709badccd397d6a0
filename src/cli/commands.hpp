// SPDX-License-Identifier: Apache-2.0
#pragma once
// The list of commands. A new one is a file that defines a Command, a line here, and a line in
// commands.cpp.

#include "cli/command_line.hpp"
#include "cli/flag.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace holt::cli {

extern Command const run_command;
extern Command const elect_command;
extern Command const election_list_command;
extern Command const election_show_command;
extern Command const election_watch_command;
extern Command const election_resign_command;
extern Command const poll_command;
extern Command const poll_show_command;
extern Command const poll_add_command;
extern Command const poll_remove_command;
extern Command const poll_pause_command;
extern Command const poll_resume_command;
extern Command const nodes_command;
extern Command const lock_try_command;
extern Command const lock_acquire_command;
extern Command const lock_extend_command;
extern Command const lock_release_command;
extern Command const lock_show_command;
extern Command const lock_list_command;
extern Command const lock_watch_command;
extern Command const lock_break_command;
extern Command const queue_add_command;
extern Command const queue_show_command;
extern Command const queue_list_command;
extern Command const queue_cancel_command;
extern Command const work_command;
extern Command const up_command;
extern Command const down_command;
extern Command const list_command;
extern Command const serve_command;
extern Command const doctor_command;
extern Command const migrate_command;
extern Command const bench_lock_command;
extern Command const config_show_command;
extern Command const completion_command;
extern Command const complete_command;
extern Command const docs_command;
extern Command const demo_command;
extern Command const demo_worker_command;
extern Command const version_command;
extern Command const help_command;

/// All commands, in the order of the help.
[[nodiscard]] std::span<Command const* const> all_commands() noexcept;

/// True for the first word of commands of two words ("lock"). It may be a command too ("poll").
[[nodiscard]] bool is_group(std::string_view word) noexcept;

/// The command of exactly these words; null when there is none.
[[nodiscard]] Command const* find_command(std::string_view words) noexcept;

/// The flags that mean the same in every command that has them, each once.
[[nodiscard]] std::vector<Flag> shared_flags();

/// Throws UsageError for a word that is no command (of the group), with the nearest that is one.
[[noreturn]] void refuse_command(std::string_view group, std::string_view word);

/// The second words of a group's commands, or (group empty) all first words; no hidden ones.
[[nodiscard]] std::vector<std::string_view> known_words(std::string_view group);

}  // namespace holt::cli
