// SPDX-License-Identifier: Apache-2.0
#include "cli/watchdog.hpp"

#include "cli/boot_timer.hpp"
#include "cli/descriptor.hpp"
#include "cli/stream.hpp"

#include <holt/clock.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <string>
#include <system_error>

namespace holt::cli {

/// Shared by three processes: the wrapper, the watchdog and, before it becomes the command, the
/// child. `closed` is set before `group` is read, and `group` before `closed`, so either the
/// watchdog sees the child or the child sees that it is too late.
struct Watchdog::Page {
  std::atomic<Instant::rep> deadline = 0;  // 0: none yet
  std::atomic<pid_t> group = 0;            // 0: nobody to kill
  std::atomic<bool> closed = false;
  std::atomic<bool> killed = false;

  void kill_group() noexcept {
    closed = true;
    auto const target = group.load();
    if (target != 0 && ::kill(-target, SIGKILL) == 0) killed = true;
  }

  [[nodiscard]] bool is_over() const noexcept {
    auto const when = deadline.load();
    return when != 0 && BootClock::now().time_since_epoch().count() >= when;
  }
};

namespace {

/// Keeps stderr (for a sanitizer's report) and the pipe, nothing else of what we inherited.
void keep_only(int pipe) {
  ::close_range(0, 1, 0);
  if (pipe > 3) ::close_range(3, static_cast<unsigned>(pipe - 1), 0);
  ::close_range(static_cast<unsigned>(pipe + 1), UINT_MAX, 0);
}

/// Waits until the deadline has passed or the wrapper is gone.
template <class Page>
void wait_for_the_end(Page const& page, int pipe) {
  BootTimer timer;
  std::array<pollfd, 2> events{pollfd{pipe, POLLIN, 0}, pollfd{timer.fd(), POLLIN, 0}};
  while (!page.is_over()) {
    if (auto const when = page.deadline.load(); when != 0) {
      timer.set(Instant(BootClock::duration(when)));
    }
    ::poll(events.data(), events.size(), -1);
    if (events[0].revents == 0) continue;
    char wake = 0;
    if (::read(pipe, &wake, 1) == 0) return;
  }
}

template <class Page>
[[noreturn]] void watch(Page& page, int pipe) noexcept {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  ::setsid();
  ::prctl(PR_SET_NAME, "holt-watchdog");
  keep_only(pipe);
  try {
    wait_for_the_end(page, pipe);
  } catch (std::system_error const& error) {  // better to kill too early than never
    talk_of_trouble(std::string("the watchdog cannot watch, and kills the command: ") +
                    error.what());
  }
  page.kill_group();
  ::_exit(0);
}

}  // namespace

Watchdog::Watchdog() {
  auto const fail = [](char const* what) {
    throw std::system_error(errno, std::system_category(), what);
  };
  void* const memory =
      ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("cannot share memory with the watchdog");
  page_ = new (memory) Page;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("cannot make a pipe for the watchdog");
  Descriptor const reading(ends[0]);
  pipe_ = Descriptor(ends[1]);
  process_ = ::fork();
  if (process_ < 0) fail("cannot start the watchdog");
  if (process_ == 0) {
    pipe_.close();
    watch(*page_, reading.get());
  }
}

Watchdog::~Watchdog() {
  stand_down();
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::munmap(page_, sizeof(Page));
}

void Watchdog::guard_until(Instant deadline) noexcept {
  page_->deadline = deadline.time_since_epoch().count();
  if (armed_) return;  // it looks again when the old deadline has passed
  armed_ = true;
  char const wake = 0;
  [[maybe_unused]] auto const written = ::write(pipe_.get(), &wake, 1);
}

bool Watchdog::enlist(pid_t group) noexcept {
  page_->group = group;
  return !page_->closed && !page_->is_over();
}

void Watchdog::stand_down() noexcept {
  page_->group = 0;
  pipe_.close();
}

bool Watchdog::has_killed() const noexcept { return page_->killed; }

}  // namespace holt::cli
