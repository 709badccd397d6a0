// SPDX-License-Identifier: Apache-2.0
// The holt command: finds the command that is asked for, runs it, and turns every failure into two
// lines on stderr and an exit code.

#include "cli/color.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/flag.hpp"
#include "cli/help.hpp"
#include "cli/log.hpp"
#include "cli/nearest.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

using Arguments = std::vector<std::string>;

[[noreturn]] void refuse_leading_flag(std::string_view name) {
  std::string message = "unknown flag " + in_quotes(name);
  std::vector<std::string_view> known;
  for (auto const& flag : shared_flags()) known.push_back(flag.long_name());
  auto const meant = nearest(name, known);
  if (!meant.empty()) message += "; did you mean " + std::string(meant) + "?";
  throw UsageError(message, "holt --help");
}

/// Options that stand before the command ("holt --store URL lock list") move behind it.
/// Answers how many words they are.
std::size_t leading_options(Arguments const& arguments) {
  std::size_t count = 0;
  while (count < arguments.size() && arguments[count].starts_with("-")) {
    auto const& word = arguments[count];
    auto const name = std::string_view(word).substr(0, word.find('='));
    auto const flags = shared_flags();
    auto const flag = std::ranges::find_if(flags, [=](Flag const& f) { return f.is_named(name); });
    if (flag == flags.end()) refuse_leading_flag(name);
    count += flag->takes_value() && word.size() == name.size() ? 2 : 1;
  }
  return std::min(count, arguments.size());
}

int show_group(std::string_view group) {
  write_data(group_help(group));
  return number(ExitCode::ok);
}

bool asks_for_help(std::string_view word) { return word == "--help" || word == "-h"; }

/// Something that a setting may be the cause of.
bool is_about_settings(ExitCode code) {
  return code == ExitCode::usage || code == ExitCode::unreachable || code == ExitCode::not_allowed;
}

/// A hint may name several ways out, one per line.
std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    auto const end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Prints the failure. Answers the exit status.
int report(CommandLine const* line, ExitCode code, std::string message, std::string hint) {
  bool const runs_child = line != nullptr && line->command().runs_child;
  if (line != nullptr && !line->doing.empty()) {
    message = "cannot " + line->doing + ": " + message;
  }
  talk_of_trouble(message);
  if (line != nullptr && is_about_settings(code)) {
    if (auto const set = line->set_elsewhere(); !set.empty()) talk_plainly("Set: " + set);
  }
  if (hint.empty() && code == ExitCode::usage && line != nullptr) {
    hint = "holt " + std::string(line->command().words) + " --help";
  }
  for (auto const& way : lines_of(hint)) talk_of_a_way_out(way);
  bool const by_signal = number(code) > 128;
  return number(runs_child && !by_signal ? ExitCode::run_failed : code);
}

int run_reporting(CommandLine& line) {
  try {
    return line.command().run(line);
  } catch (Failure const& failure) {
    return report(&line, failure.code(), failure.what(), failure.hint());
  } catch (InvalidArgument const& error) {
    return report(&line, ExitCode::usage, error.what(), {});
  } catch (EngineError const& error) {
    return report(&line, exit_code_of(error.code()), error.what(), error.hint());
  } catch (std::bad_alloc const&) {
    return report(&line, ExitCode::failed, "out of memory", {});
  } catch (std::system_error const& error) {
    bool const descriptors = error.code() == std::errc::too_many_files_open ||
                             error.code() == std::errc::too_many_files_open_in_system;
    return report(&line, ExitCode::failed, error.what(),
                  descriptors ? "raise the limit of open files (ulimit -n) or close some" : "");
  } catch (std::exception const& error) {
    return report(&line, ExitCode::failed, error.what(), {});
  }
}

/// What is known of --color before the command line is understood, for complaints about it.
void choose_color_early(Arguments const& arguments) {
  if (auto const* const variable = std::getenv("HOLT_COLOR")) set_color(variable);
  constexpr std::string_view flag = "--color";
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    std::string_view const word = arguments[i];
    if (word == flag && i + 1 < arguments.size()) set_color(arguments[i + 1]);
    if (word.starts_with("--color=")) set_color(word.substr(flag.size() + 1));
  }
}

int dispatch(Arguments arguments) {
  choose_color_early(arguments);
  if (arguments.empty() || asks_for_help(arguments[0])) return show_group({});
  if (arguments[0] == "--version") arguments[0] = "version";
  auto const first = leading_options(arguments);
  if (first == arguments.size()) throw UsageError("the command is missing", "holt --help");
  std::size_t words = 1;
  std::string name = arguments[first];
  if (is_group(name)) {
    bool const has_next = first + 1 < arguments.size();
    bool const is_command = find_command(name) != nullptr;  // "poll" is both
    if (!is_command && (!has_next || asks_for_help(arguments[first + 1]))) return show_group(name);
    auto const both = has_next ? name + ' ' + arguments[first + 1] : std::string();
    if (!is_command || find_command(both) != nullptr) {
      name = both;
      words = 2;
    }
  }
  auto const* const command = find_command(name);
  if (command == nullptr) {
    refuse_command(words == 2 ? arguments[first] : std::string(), arguments[first + words - 1]);
  }
  auto const after = arguments.begin() + static_cast<std::ptrdiff_t>(first);
  arguments.erase(after, after + static_cast<std::ptrdiff_t>(words));
  CommandLine line(*command, std::move(arguments));
  return run_reporting(line);
}

}  // namespace
}  // namespace holt::cli

int main(int argc, char** argv) {
  using namespace holt::cli;
  open_standard_streams();
  int status = number(ExitCode::failed);
  try {
    status = dispatch(Arguments(argv + std::min(argc, 1), argv + argc));
  } catch (Failure const& failure) {
    status = report(nullptr, failure.code(), failure.what(), failure.hint());
  }
  finish_log();
  ::_exit(status);  // everything is written and closed; what static objects would do is not needed
}
