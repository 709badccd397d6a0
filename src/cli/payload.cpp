// SPDX-License-Identifier: Apache-2.0
#include "cli/payload.hpp"

#include "cli/descriptor.hpp"
#include "cli/failure.hpp"
#include "cli/text.hpp"

#include <holt/task.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace holt::cli {
namespace {

constexpr std::size_t most_lines = 5'000;
constexpr std::size_t most_bytes = 4UL * 1024 * 1024;
constexpr std::size_t page = 65'536;

[[noreturn]] void refuse_size(std::string const& what) {
  throw UsageError(what + " is above 1 MiB, which is the most a task may carry",
                   "keep the data elsewhere, and add a task that says where");
}

/// Appends what can be read to `text`; false at the end.
bool read_page(int fd, std::string& text) {
  std::array<char, page> part;  // NOLINT(*-member-init): read() fills it
  while (true) {
    auto const count = ::read(fd, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw std::system_error(errno, std::system_category(), "cannot read");
    text.append(part.data(), static_cast<std::size_t>(count));
    return count > 0;
  }
}

std::string content_of(std::string const& file) {
  Descriptor const opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  try {
    if (!opened.is_open()) throw std::system_error(errno, std::system_category());
    while (text.size() <= task_limits::payload_bytes && read_page(opened.get(), text)) {
    }
  } catch (std::system_error const& error) {
    throw UsageError(
        "cannot read the payload from " + in_quotes(file) + ": " + error.code().message(),
        "--payload @FILE with a file that can be read, or the payload itself");
  }
  return text;
}

bool input_waits() noexcept {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0;
}

}  // namespace

std::string payload_of(std::string const& text) {
  bool const is_quoted = text.starts_with("@@");
  bool const is_file = text.starts_with('@') && !is_quoted;
  auto payload = is_file ? content_of(text.substr(1)) : text.substr(is_quoted ? 1 : 0);
  if (payload.size() > task_limits::payload_bytes) {
    refuse_size(is_file ? "the payload in " + in_quotes(text.substr(1)) : "the payload");
  }
  return payload;
}

std::vector<std::string> PayloadLines::next() {
  std::vector<std::string> lines;
  while (!take_lines(lines)) {
    if (at_end_ || (!lines.empty() && !input_waits())) return lines;
    read_more();
  }
  return lines;
}

/// All whole lines that were read. True: enough for now.
bool PayloadLines::take_lines(std::vector<std::string>& lines) {
  std::size_t at = 0;
  std::size_t bytes = 0;
  bool enough = false;
  while (!enough) {
    auto const end = rest_.find('\n', at);
    auto const size = (end == std::string::npos ? rest_.size() : end) - at;
    if (size > task_limits::payload_bytes) {
      if (lines.empty()) refuse_size("line " + std::to_string(number_ + 1) + " of the input");
      enough = true;
      break;
    }
    if (end == std::string::npos) break;
    ++number_;
    if (size > 0) lines.push_back(rest_.substr(at, size));
    bytes += size;
    at = end + 1;
    enough = lines.size() >= most_lines || bytes >= most_bytes;
  }
  rest_.erase(0, at);
  return enough;
}

void PayloadLines::read_more() {
  if (read_page(STDIN_FILENO, rest_)) return;
  at_end_ = true;
  if (!rest_.empty() && !rest_.ends_with('\n')) rest_ += '\n';  // the last line may lack its end
}

}  // namespace holt::cli
