// SPDX-License-Identifier: Apache-2.0
#include "cli/stream.hpp"

#include "cli/color.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/secret.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace holt::cli {
namespace {

constexpr std::string_view erase_line = "\r\x1b[K";
constinit std::atomic<bool> has_line = false;

/// Writes all of it, in one call where the system lets us: lines of several processes stay whole.
bool write_all(int fd, std::string_view data) noexcept {
  while (!data.empty()) {
    auto const count = ::write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    data.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

void open_standard_streams() noexcept {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
      static_cast<void>(::open("/dev/null", O_RDWR));  // takes the lowest free number: this one
    }
  }
}

void write_data(std::string_view data) {
  if (write_all(STDOUT_FILENO, data)) return;
  auto const reason = std::system_category().message(errno);
  throw Failure(ExitCode::failed, "cannot write to standard output: " + reason);
}

void talk(std::string_view line) noexcept { talk_plainly(std::string("holt: ").append(line)); }

void talk_of_trouble(std::string_view line) noexcept {
  talk_plainly(styled(Style::red, "holt:", STDERR_FILENO).append(" ").append(line));
}

void talk_of_a_way_out(std::string_view line) noexcept {
  talk_plainly(styled(Style::bold, "Try:", STDERR_FILENO).append(" ").append(line));
}

void talk_plainly(std::string_view line) noexcept {
  std::string_view const before = has_line.exchange(false) ? erase_line : "";
  write_all(STDERR_FILENO, std::string(before) + without_passwords(line) + '\n');
}

void talk_in_handler(std::string_view text) noexcept {
  if (has_line.exchange(false)) write_all(STDERR_FILENO, erase_line);
  write_all(STDERR_FILENO, text);
}

void show_line(std::string_view line) noexcept {
  std::string const text = '\r' + without_passwords(line) + "\x1b[K";
  has_line = true;
  write_all(STDERR_FILENO, text);
}

void clear_line() noexcept {
  if (has_line.exchange(false)) write_all(STDERR_FILENO, erase_line);
}

}  // namespace holt::cli
