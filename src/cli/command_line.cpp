// SPDX-License-Identifier: Apache-2.0
// The only file that knows CLI11. It is asked for the raw work (which word is whose value) and for
// nothing else: its texts, exit codes and help are replaced by ours.
#include "cli/command_line.hpp"

#include "cli/duration.hpp"
#include "cli/failure.hpp"
#include "cli/help.hpp"
#include "cli/nearest.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
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

void CommandLine::flag(std::string_view names, bool& target, std::string_view help) {
  options_.push_back({names, {}, help, [&target](std::string const&) { target = true; }});
}

void CommandLine::value(std::string_view names, std::string_view placeholder,
                        std::optional<std::string>& target, std::string_view help) {
  options_.push_back(
      {names, placeholder, help, [&target](std::string const& text) { target = text; }});
}

void CommandLine::duration(std::string_view names, std::optional<std::chrono::milliseconds>& target,
                           std::string_view help) {
  auto const set = [&target, names](std::string const& text) {
    auto const parsed = parse_duration(text);
    if (!parsed) throw UsageError(std::string(names) + ": " + parsed.error());
    target = *parsed;
  };
  options_.push_back({names, "DURATION", help, set});
}

void CommandLine::word(std::string_view placeholder, std::string& target) {
  words_.push_back({placeholder, &target, true});
}

void CommandLine::optional_word(std::string_view placeholder, std::string& target) {
  words_.push_back({placeholder, &target, false});
}

void CommandLine::command_words(std::vector<std::string>& target) { command_words_ = &target; }

bool CommandLine::parse() {
  bool help = false;
  flag("-h,--help", help, "show this help");
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.prefix_command(command_words_ != nullptr);
  std::vector<CLI::Option*> parsed;
  std::string ignored;
  for (auto const& option : options_) {
    std::string const names(option.names);
    parsed.push_back(option.placeholder.empty() ? app.add_flag(names)
                                                : app.add_option(names, ignored)->take_last());
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
  auto const given = [&](CLI::Option const* option) { return option->count() > 0; };
  if (given(parsed.back())) {
    write_data(command_help(*this));
    return false;
  }
  assign_words(app.remaining());
  for (std::size_t i = 0; i + 1 < options_.size(); ++i) {
    if (!given(parsed[i])) continue;
    if (!options_[i].placeholder.empty() && parsed[i]->count() > 1) {
      throw UsageError(std::string(options_[i].names) + " is given twice", help_command());
    }
    options_[i].set(parsed[i]->results().back());
  }
  return true;
}

/// What CLI11 left over: words, flags that it does not know, and the first "--".
void CommandLine::assign_words(std::vector<std::string> const& remaining) {
  std::vector<std::string> words;
  bool only_words = false;
  for (auto const& item : remaining) {
    bool const in_command = command_words_ != nullptr && !words.empty();
    if (!only_words && !in_command && item == "--") {
      only_words = true;
    } else if (!only_words && !in_command && looks_like_flag(item)) {
      refuse_flag(item);
    } else {
      words.push_back(item);
    }
  }
  if (command_words_ != nullptr) {
    *command_words_ = std::move(words);
    return;
  }
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (i < words.size()) {
      *words_[i].target = words[i];
    } else if (words_[i].required) {
      throw UsageError(std::string(words_[i].placeholder) + " is missing", help_command());
    }
  }
  if (words.size() > words_.size()) {
    throw UsageError("unexpected argument " + in_quotes(words[words_.size()]), help_command());
  }
}

void CommandLine::refuse_flag(std::string const& flag) const {
  auto const name = flag.substr(0, flag.find('='));
  std::vector<std::string_view> known;
  for (auto const& option : options_) {
    auto const comma = option.names.find(',');
    known.push_back(comma == std::string_view::npos ? option.names
                                                    : option.names.substr(comma + 1));
  }
  auto const meant = nearest(name, known);
  std::string message = "unknown flag " + in_quotes(name);
  if (!meant.empty()) message += "; did you mean " + std::string(meant) + "?";
  std::string hint = help_command();
  if (!words_.empty()) hint += "; a word that starts with - goes after --";
  throw UsageError(message, hint);
}

std::string CommandLine::help_command() const {
  return "holt " + std::string(command_.words) + " --help";
}

}  // namespace holt::cli
