// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include "cli/command_line.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace holt::cli {
namespace {

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

}  // namespace holt::cli
