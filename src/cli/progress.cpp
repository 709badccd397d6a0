// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include "cli/command_line.hpp"
#include "cli/text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds shortest_pause{5'000};  // of plain lines; each pause is twice the last
constexpr milliseconds longest_pause{60'000};

constexpr std::array<std::string_view, 4> choices{"auto", "plain", "quiet", "json"};

bool can_update_a_line() {
  auto const* const kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && kind != nullptr && *kind != '\0' &&
         std::string_view(kind) != "dumb";
}

}  // namespace

void ProgressOption::declare(CommandLine& line) {
  line.choice("--progress", "FORM", choices, text_,
              "how to tell what it waits for: auto (the default), plain, quiet, json",
              CommandLine::Scope::shared);
}

Progress ProgressOption::form() const {
  auto const text = text_.value_or("auto");
  if (text == "quiet") return Progress::quiet;
  if (text == "json") return Progress::json;
  return text == "auto" && can_update_a_line() ? Progress::line : Progress::plain;
}

milliseconds pause_after(Progress form, milliseconds last) {
  if (form == Progress::line) return milliseconds(1'000);
  if (form == Progress::json) return milliseconds(2'000);
  return std::clamp(last * 2, shortest_pause, longest_pause);
}

std::string fitting(std::string const& line) {
  winsize size{};
  constexpr std::size_t dots = 4;
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col <= dots) return line;
  return printable(line, size.ws_col - dots);
}

}  // namespace holt::cli
