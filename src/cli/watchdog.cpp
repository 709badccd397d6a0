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

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>

namespace holt::cli {
namespace {

using Rep = Instant::rep;

constexpr Rep never = 0;

/// One command at a time. Shared by three processes: the wrapper, the watchdog and, before it
/// becomes the command, the child. `closed` is set before `group` is read, and `group` before
/// `closed`, so either the watchdog sees the child or the child sees that it is too late.
struct Place {
  std::atomic<Rep> deadline = never;
  std::atomic<Rep> served = never;  // the deadline at which the watchdog has killed
  std::atomic<pid_t> group = 0;     // 0: nobody to kill
  std::atomic<bool> closed = false;
  std::atomic<bool> killed = false;
  bool armed = false;  // the wrapper's: the watchdog knows of this deadline or an earlier one

  [[nodiscard]] bool is_over() const noexcept {
    auto const when = deadline.load();
    return when != never && BootClock::now().time_since_epoch().count() >= when;
  }

  void kill_group() noexcept {
    closed = true;
    auto const target = group.load();
    if (target != 0 && ::kill(-target, SIGKILL) == 0) killed = true;
  }

  /// The group is read before the deadline, which is set before the group: a place that another
  /// command has got meanwhile is left alone.
  void kill_if_over() noexcept {
    closed = true;
    auto const target = group.load();
    auto const when = deadline.load();
    if (!is_over()) {
      closed = false;
      return;
    }
    if (target != 0 && ::kill(-target, SIGKILL) == 0) killed = true;
    served = when;
  }

  /// When the watchdog has something to do here; `never` if not at all.
  [[nodiscard]] Rep next() const noexcept {
    auto const when = deadline.load();
    return when == served.load() ? never : when;
  }
};

}  // namespace

class Watchdog::Page {
 public:
  [[nodiscard]] static std::size_t bytes(std::size_t places) noexcept {
    return sizeof(Page) + places * sizeof(Place);
  }

  /// `behind` is the memory behind this, which the watchdog finds at the same address.
  Page(std::size_t places, void* behind) noexcept
      : places_(static_cast<Place*>(behind)), count_(places) {
    static_assert(sizeof(Page) % alignof(Place) == 0);
    for (auto& place : all()) new (&place) Place;
  }

  [[nodiscard]] std::span<Place> all() noexcept { return {places_, count_}; }
  [[nodiscard]] Place& at(std::size_t place) noexcept { return all()[place]; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes(count_); }

  /// Set before the groups are read, as in a Place: the wrapper is dead.
  void close() noexcept {
    closed_ = true;
    for (auto& place : all()) place.kill_group();
  }
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }

  /// Answers when there is something to do next; `never` if nothing is known of.
  [[nodiscard]] Rep kill_those_that_are_over() noexcept {
    Rep next = never;
    for (auto& place : all()) {
      if (place.next() != never && place.is_over()) place.kill_if_over();
      auto const when = place.next();
      if (when != never && (next == never || when < next)) next = when;
    }
    return next;
  }

 private:
  Place* places_;
  std::size_t count_;
  std::atomic<bool> closed_ = false;
};

namespace {

/// Keeps stderr (for a sanitizer's report) and the pipe, nothing else of what we inherited.
void keep_only(int pipe) {
  ::close_range(0, 1, 0);
  if (pipe > 3) ::close_range(3, static_cast<unsigned>(pipe - 1), 0);
  ::close_range(static_cast<unsigned>(pipe + 1), UINT_MAX, 0);
}

/// Kills whatever is over, until the wrapper is gone.
template <class Page>
void watch_places(Page& page, int pipe) {
  BootTimer timer;
  std::array<pollfd, 2> events{pollfd{pipe, POLLIN, 0}, pollfd{timer.fd(), POLLIN, 0}};
  while (true) {
    auto const next = page.kill_those_that_are_over();
    if (next != never) timer.set(Instant(BootClock::duration(next)));
    events[1].fd = next == never ? -1 : timer.fd();
    ::poll(events.data(), events.size(), -1);
    if (events[0].revents == 0) continue;
    std::array<char, 256> wakes{};
    if (::read(pipe, wakes.data(), wakes.size()) == 0) return;
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
    watch_places(page, pipe);
  } catch (std::system_error const& error) {  // better to kill too early than never
    talk_of_trouble(std::string("the watchdog cannot watch, and kills the command: ") +
                    error.what());
  }
  page.close();
  ::_exit(0);
}

}  // namespace

Watchdog::Watchdog(std::size_t places) {
  auto const fail = [](char const* what) {
    throw std::system_error(errno, std::system_category(), what);
  };
  void* const memory = ::mmap(nullptr, Page::bytes(places), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("cannot share memory with the watchdog");
  page_ = new (memory) Page(places, static_cast<std::byte*>(memory) + sizeof(Page));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    fail("cannot make a pipe for the watchdog");
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
  pipe_.close();
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::munmap(page_, page_->size());
}

void Watchdog::guard_until(Instant deadline, std::size_t place) noexcept {
  auto& guarded = page_->at(place);
  if (!guarded.armed) guarded.killed = false;
  guarded.deadline = deadline.time_since_epoch().count();
  if (guarded.armed) return;  // it looks again when the old deadline has passed
  guarded.armed = true;
  char const wake = 0;
  [[maybe_unused]] auto const written = ::write(pipe_.get(), &wake, 1);
}

bool Watchdog::enlist(pid_t group, std::size_t place) noexcept {
  auto& guarded = page_->at(place);
  guarded.group = group;
  return !page_->is_closed() && !guarded.closed && !guarded.is_over();
}

void Watchdog::stand_down(std::size_t place) noexcept {
  auto& guarded = page_->at(place);
  guarded.group = 0;
  guarded.deadline = never;
  guarded.served = never;
  guarded.closed = false;
  guarded.armed = false;
}

bool Watchdog::has_killed(std::size_t place) const noexcept { return page_->at(place).killed; }

}  // namespace holt::cli
