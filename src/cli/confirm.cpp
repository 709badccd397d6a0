// SPDX-License-Identifier: Apache-2.0
#include "cli/confirm.hpp"

#include "cli/failure.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

namespace holt::cli {
namespace {

std::string read_line() {
  std::array<char, 64> buffer{};
  ssize_t count = 0;
  do {
    count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  return count > 0 ? std::string(buffer.data(), static_cast<std::size_t>(count)) : std::string();
}

}  // namespace

bool confirm(std::string const& question, std::string_view flag) {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDERR_FILENO) != 1) {
    throw UsageError("there is no terminal to ask on: give " + std::string(flag) +
                     " if you are sure");
  }
  auto const text = question + " [y/N] ";
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  auto const answer = read_line();
  return answer == "y\n" || answer == "Y\n" || answer == "yes\n";
}

}  // namespace holt::cli
