// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"

#include "cli/command_line.hpp"
#include "cli/failure.hpp"
#include "cli/flag.hpp"
#include "cli/nearest.hpp"
#include "cli/text.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {
namespace {

constexpr auto table = std::to_array<Command const*>({
    &run_command,
    &lock_try_command,
    &lock_acquire_command,
    &lock_extend_command,
    &lock_release_command,
    &lock_show_command,
    &lock_list_command,
    &lock_watch_command,
    &lock_break_command,
    &elect_command,
    &election_list_command,
    &election_show_command,
    &election_watch_command,
    &election_resign_command,
    &poll_command,
    &poll_show_command,
    &poll_add_command,
    &poll_remove_command,
    &poll_pause_command,
    &poll_resume_command,
    &nodes_command,
    &queue_add_command,
    &queue_show_command,
    &queue_list_command,
    &queue_cancel_command,
    &work_command,
    &up_command,
    &down_command,
    &list_command,
    &serve_command,
    &doctor_command,
    &migrate_command,
    &bench_lock_command,
    &config_show_command,
    &completion_command,
    &demo_command,
    &version_command,
    &help_command,
    &demo_worker_command,
    &complete_command,
    &docs_command,
});

std::string_view first_word(std::string_view words) { return words.substr(0, words.find(' ')); }

}  // namespace

std::span<Command const* const> all_commands() noexcept { return table; }

bool is_group(std::string_view word) noexcept {
  return std::ranges::any_of(table, [=](Command const* command) {
    return command->words.size() > word.size() && first_word(command->words) == word;
  });
}

Command const* find_command(std::string_view words) noexcept {
  auto const found = std::ranges::find(table, words, &Command::words);
  return found == table.end() ? nullptr : *found;
}

std::vector<std::string_view> known_words(std::string_view group) {
  std::vector<std::string_view> words;
  for (auto const* const command : table) {
    if (command->hidden) continue;
    auto const first = first_word(command->words);
    bool const inside = first == group && command->words.size() > first.size();
    if (inside) words.push_back(command->words.substr(first.size() + 1));
    if (group.empty() && (words.empty() || words.back() != first)) words.push_back(first);
  }
  return words;
}

std::vector<Flag> shared_flags() {
  std::vector<Flag> shared;
  for (auto const* const command : table) {
    for (auto const& flag : declared(*command).flags) {
      bool const is_new = std::ranges::find(shared, flag.names, &Flag::names) == shared.end();
      if (flag.scope == Flag::Scope::shared && is_new) shared.push_back(flag);
    }
  }
  return shared;
}

void refuse_command(std::string_view group, std::string_view word) {
  std::string const holt = group.empty() ? "holt" : "holt " + std::string(group);
  std::string message = in_quotes(word) + " is no command of " + holt;
  auto const meant = nearest(word, known_words(group));
  if (!meant.empty()) message += "; did you mean \"" + std::string(meant) + "\"?";
  throw UsageError(message, holt + " --help");
}

}  // namespace holt::cli
