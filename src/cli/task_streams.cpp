// SPDX-License-Identifier: Apache-2.0
#include "cli/task_streams.hpp"

#include "cli/descriptor.hpp"

#include <holt/task.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace holt::cli {
namespace {

constexpr std::size_t kept_result = task_limits::result_bytes + 1;
constexpr std::size_t kept_complaint = task_limits::error_bytes - 200;  // room for our own words
constexpr std::size_t page = 65'536;

[[noreturn]] void fail(char const* what) {
  throw std::system_error(errno, std::system_category(), what);
}

/// What cannot be written is dropped: it is for people.
void write_all(int fd, std::string_view data) noexcept {
  while (!data.empty()) {
    auto const written = ::write(fd, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    data.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// A file in memory: the command may read it when it likes, or not at all, and nobody waits.
Descriptor file_of(std::string_view payload) {
  Descriptor file(::memfd_create("holt-task", MFD_CLOEXEC));
  if (!file.is_open()) fail("cannot keep the payload in memory");
  while (!payload.empty()) {
    auto const written = ::write(file.get(), payload.data(), payload.size());
    if (written < 0) fail("cannot keep the payload in memory");
    payload.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

/// Hands what there is to `take`, at most a page; false: nothing now.
template <class Take>
bool read_page(int fd, Take take) {
  std::array<char, page> buffer;  // NOLINT(*-member-init): read() fills it
  auto const size = ::read(fd, buffer.data(), buffer.size());
  if (size <= 0) return false;
  take(std::string_view(buffer.data(), static_cast<std::size_t>(size)));
  return true;
}

}  // namespace

TaskStreams::Pipe::Pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("cannot make a pipe for the command");
  reading = Descriptor(ends[0]);
  writing = Descriptor(ends[1]);
  ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);  // ours; the command's end waits, as it expects
}

TaskStreams::TaskStreams(std::string_view payload)
    : input_(file_of(payload)), gone_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!gone_.is_open()) fail("cannot wait for the command");
}

void TaskStreams::command_is_gone() noexcept { ::eventfd_write(gone_.get(), 1); }

/// We keep the writing ends open, so there is no end of file to see to.
void TaskStreams::read_all() {
  std::array<pollfd, 3> events{pollfd{output_.reading.get(), POLLIN, 0},
                               pollfd{errors_.reading.get(), POLLIN, 0},
                               pollfd{gone_.get(), POLLIN, 0}};
  while (events[2].revents == 0) {
    ::poll(events.data(), events.size(), -1);
    [[maybe_unused]] bool const more = read_some();
  }
  // Bounded: what was left behind may write for ever.
  constexpr int pages_left = 32;
  for (int i = 0; i < pages_left && read_some(); ++i) {
  }
}

bool TaskStreams::read_some() {
  bool const result =
      read_page(output_.reading.get(), [this](std::string_view part) { keep_result(part); });
  bool const complaint =
      read_page(errors_.reading.get(), [this](std::string_view part) { keep_complaint(part); });
  return result || complaint;
}

void TaskStreams::keep_result(std::string_view part) {
  result_.append(part.substr(0, kept_result - result_.size()));
}

void TaskStreams::keep_complaint(std::string_view part) {
  write_all(STDERR_FILENO, part);
  complaint_.append(part);
  if (complaint_.size() > kept_complaint) complaint_.erase(0, complaint_.size() - kept_complaint);
}

std::string TaskStreams::complaint() const {
  auto const last = complaint_.find_last_not_of(" \t\r\n");
  return last == std::string::npos ? std::string() : complaint_.substr(0, last + 1);
}

}  // namespace holt::cli
