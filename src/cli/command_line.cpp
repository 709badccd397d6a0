// SPDX-License-Identifier: Apache-2.0
// The only file that knows CLI11. It is asked for the raw work (which word is whose value) and for
// nothing else: its texts, exit codes and help are replaced by ours.
#include "cli/command_line.hpp"

#include "cli/color.hpp"
#include "cli/duration.hpp"
#include "cli/failure.hpp"
#include "cli/flag.hpp"
#include "cli/help.hpp"
#include "cli/nearest.hpp"
#include "cli/setting.hpp"
#include "cli/settings.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

bool looks_like_flag(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

/// CLI11 takes the next word for the value of "--name="; it is empty, and we say so.
std::vector<std::string> with_empty_values_apart(std::vector<std::string> words) {
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
    if (word->size() > 3 && word->starts_with("--") && word->find('=') == word->size() - 1) {
      word->pop_back();
      word = words.insert(word + 1, std::string());
    }
  }
  return words;
}

}  // namespace

CommandLine::CommandLine(Command const& command, std::vector<std::string> arguments)
    : command_(command), arguments_(std::move(arguments)) {}

Declared declared(Command const& command) {
  CommandLine line(command, {});
  line.only_declares_ = true;
  static_cast<void>(command.run(line));
  return line.declarations();
}

void CommandLine::flag(std::string_view names, bool& target, std::string_view help) {
  options_.push_back({{.names = names, .placeholder = {}, .help = help},
                      [&target](Setting const& given) { target = is_true(given.value); }});
}

void CommandLine::value(std::string_view names, std::string_view placeholder,
                        std::optional<std::string>& target, std::string_view help) {
  options_.push_back({{.names = names, .placeholder = placeholder, .help = help},
                      [&target](Setting const& given) { target = given.value; }});
}

void CommandLine::duration(std::string_view names, std::optional<std::chrono::milliseconds>& target,
                           std::string_view help) {
  options_.push_back({{.names = names, .placeholder = "DURATION", .help = help},
                      [&target](Setting const& given) { target = *parse_duration(given.value); }});
}

void CommandLine::count(std::string_view names, std::optional<std::uint64_t>& target,
                        std::string_view help) {
  options_.push_back({{.names = names, .placeholder = "COUNT", .help = help},
                      [&target](Setting const& given) { target = parse_count(given.value); }});
}

void CommandLine::choice(std::string_view names, std::string_view placeholder,
                         std::span<std::string_view const> choices,
                         std::optional<std::string>& target, std::string_view help, Scope scope) {
  options_.push_back({{names, placeholder, help, scope, choices},
                      [&target](Setting const& given) { target = given.value; }});
}

void CommandLine::setting(std::string_view names, std::string_view placeholder,
                          std::optional<Setting>& target, std::string_view help, Scope scope) {
  options_.push_back(
      {{names, placeholder, help, scope}, [&target](Setting const& given) { target = given; }});
}

void CommandLine::exclusive(std::string_view one, std::string_view other) {
  exclusive_.emplace_back(one, other);
}

void CommandLine::word(std::string_view placeholder, std::string& target) {
  words_.push_back({{placeholder}, &target});
}

void CommandLine::word(std::string_view placeholder, std::span<std::string_view const> choices,
                       std::string& target) {
  words_.push_back({{placeholder, true, choices}, &target});
}

void CommandLine::optional_word(std::string_view placeholder, std::string& target) {
  words_.push_back({{placeholder, false}, &target});
}

void CommandLine::many_words(std::string_view placeholder, std::vector<std::string>& target) {
  words_.push_back({{.placeholder = placeholder, .many = true}, nullptr, &target});
}

void CommandLine::command_words(std::vector<std::string>& target) { command_words_ = &target; }

bool CommandLine::parse() {
  bool help = false;
  std::optional<std::string> color;
  choice("--color", "WHEN", color_choices, color,
         "auto (the default: on a terminal), always, never", Scope::shared);
  flag("-h,--help", help, "show this help");
  options_.back().flag.scope = Scope::none;
  if (only_declares_) return false;
  take_command_behind_dashes();
  auto const first = words_before_flags();
  auto remaining = parse_flags();
  remaining.insert(remaining.begin(), first.begin(), first.end());
  if (options_.back().given) {
    write_data(command_help(*this));
    return false;
  }
  assign_words(remaining);
  add_settings();
  drop_excluded();
  take_values();
  if (color) set_color(*color);
  parsed_ = true;
  return true;
}

bool CommandLine::needs_dashes() const {
  auto const optional = [](Word const& word) { return !word.declared.required; };
  return command_words_ != nullptr && std::ranges::any_of(words_, optional);
}

void CommandLine::take_command_behind_dashes() {
  if (!needs_dashes()) return;
  auto const dashes = std::ranges::find(arguments_, "--");
  if (dashes == arguments_.end()) return;
  command_words_->assign(dashes + 1, arguments_.end());
  arguments_.erase(dashes, arguments_.end());
}

/// Of a command that runs another: what is its own and stands before the flags. CLI11 would take it
/// for the beginning of the other command.
std::vector<std::string> CommandLine::words_before_flags() {
  std::vector<std::string> first;
  if (command_words_ == nullptr || needs_dashes()) return first;
  auto const flag = std::ranges::find_if(arguments_, looks_like_flag);
  auto const own = std::min<std::ptrdiff_t>(std::ssize(words_), flag - arguments_.begin());
  first.assign(arguments_.begin(), arguments_.begin() + own);
  arguments_.erase(arguments_.begin(), arguments_.begin() + own);
  return first;
}

/// Notes the flags that are given. Answers the words that are left.
std::vector<std::string> CommandLine::parse_flags() {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.prefix_command(command_words_ != nullptr && !needs_dashes());
  std::vector<CLI::Option*> parsed;
  std::string ignored;
  for (auto const& option : options_) {
    std::string const names(option.flag.names);
    parsed.push_back(option.flag.takes_value() ? app.add_option(names, ignored)->take_last()
                                               : app.add_flag(names));
  }
  try {
    auto words = with_empty_values_apart(arguments_);
    std::ranges::reverse(words);  // as CLI11 wants them
    app.parse(std::move(words));
  } catch (CLI::ArgumentMismatch const& error) {
    std::string const text = error.what();  // "--ttl: 1 required TEXT missing"
    throw UsageError(text.substr(0, text.find(':')) + " needs a value", help_command());
  } catch (CLI::ParseError const& error) {
    throw UsageError(error.what(), help_command());
  }
  for (std::size_t i = 0; i < options_.size(); ++i) {
    auto const count = parsed[i]->count();
    if (count == 0) continue;
    std::string const name(options_[i].flag.long_name());
    if (options_[i].flag.takes_value() && count > 1) {
      throw UsageError(name + " is given twice", help_command());
    }
    options_[i].given = Setting{parsed[i]->results().back(), {Origin::Kind::flag, name}};
  }
  return app.remaining();
}

/// Adds what is set by variables and files to what is given as flags.
void CommandLine::add_settings() {
  auto const settings = command_.without_files ? Settings() : Settings::read();
  for (auto& option : options_) {
    if (!option.given) option.given = settings.find(command_, option.flag);
  }
}

void CommandLine::drop_excluded() {
  for (auto const& [one, other] : exclusive_) {
    auto* const first = find(one);
    auto* const second = find(other);
    if (!first->given || !second->given) continue;
    auto const kinds = std::pair(first->given->origin.kind, second->given->origin.kind);
    if (kinds.first < kinds.second) second->given.reset();
    if (kinds.second < kinds.first) first->given.reset();
  }
}

void CommandLine::take_values() {
  for (auto const& option : options_) {
    if (!option.given) continue;
    auto const wrong = complaint_about(option.flag, option.given->value);
    if (!wrong.empty()) {
      throw UsageError(option.given->origin.text() + ": " + wrong, help_command());
    }
    option.take(*option.given);
  }
}

Declared CommandLine::declarations() const {
  Declared all;
  for (auto const& option : options_) all.flags.push_back(option.flag);
  for (auto const& word : words_) all.words.push_back(word.declared);
  all.runs_command = command_words_ != nullptr;
  all.needs_dashes = needs_dashes();
  return all;
}

std::optional<Setting> CommandLine::given(Flag const& flag) const {
  for (auto const& option : options_) {
    bool const same = flag.scope == Scope::shared && option.flag.names == flag.names;
    if (!same || !option.given || option.given->origin.kind != Origin::Kind::flag) continue;
    return option.given;
  }
  return std::nullopt;
}

std::string CommandLine::set_elsewhere() const {
  std::string text;
  if (!parsed_) return text;
  for (auto const& option : options_) {
    if (!option.given || option.given->origin.kind == Origin::Kind::flag) continue;
    if (!text.empty()) text += ", ";
    text.append(option.flag.long_name()).append(" by ").append(option.given->origin.text());
  }
  return text;
}

CommandLine::Option* CommandLine::find(std::string_view long_name) {
  auto const named = [=](Option const& option) { return option.flag.long_name() == long_name; };
  return &*std::ranges::find_if(options_, named);
}

/// What CLI11 left over: words, flags that it does not know, and the first "--".
void CommandLine::assign_words(std::vector<std::string> const& remaining) {
  std::vector<std::string> words;
  bool const runs_rest = command_words_ != nullptr && !needs_dashes();
  bool only_words = false;
  for (auto const& item : remaining) {
    bool const in_command = runs_rest && words.size() > words_.size();
    if (!only_words && !in_command && item == "--") {
      only_words = true;
    } else if (!only_words && !in_command && looks_like_flag(item)) {
      refuse_flag(item);
    } else {
      words.push_back(item);
    }
  }
  if (runs_rest) {
    auto const own = std::min(words_.size(), words.size());
    command_words_->assign(words.begin() + static_cast<std::ptrdiff_t>(own), words.end());
    words.resize(own);
  }
  assign(words);
}

void CommandLine::assign(std::vector<std::string> const& words) {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    auto const& [declared, target, many] = words_[i];
    if (many != nullptr && i < words.size()) {
      many->assign(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      return;
    }
    if (i < words.size()) {
      bool const is_choice =
          std::ranges::find(declared.choices, words[i]) != declared.choices.end();
      if (!declared.choices.empty() && !is_choice) {
        throw UsageError(no_choice(words[i], declared.choices), help_command());
      }
      *target = words[i];
    } else if (declared.required) {
      throw UsageError(std::string(declared.placeholder) + " is missing", help_command());
    }
  }
  if (words.size() > words_.size()) {
    throw UsageError("unexpected argument " + in_quotes(words[words_.size()]), help_command());
  }
}

void CommandLine::refuse_flag(std::string const& flag) const {
  auto const name = flag.substr(0, flag.find('='));
  std::vector<std::string_view> known;
  known.reserve(options_.size());
  for (auto const& option : options_) known.push_back(option.flag.long_name());
  auto const meant = nearest(name, known);
  std::string message = "unknown flag " + in_quotes(name);
  if (!meant.empty()) message += "; did you mean " + std::string(meant) + "?";
  std::string hint = help_command();
  if (!words_.empty() && !needs_dashes()) hint += "; a word that starts with - goes after --";
  throw UsageError(message, hint);
}

std::string CommandLine::help_command() const {
  return "holt " + std::string(command_.words) + " --help";
}

}  // namespace holt::cli
