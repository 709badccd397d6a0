// SPDX-License-Identifier: Apache-2.0
#include "cli/background.hpp"

#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/stream.hpp"

#include <holt/clock.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <limits>
#include <string>
#include <system_error>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

/// What a child that was told to end has left for it.
constexpr milliseconds time_to_end{2'000};

[[noreturn]] void refuse() {
  throw std::system_error(errno, std::system_category(), "cannot start in the background");
}

int milliseconds_until(Instant when) {
  auto const left = std::chrono::ceil<milliseconds>(when - BootClock::now());
  return static_cast<int>(std::clamp<milliseconds::rep>(left.count(), 0, 1'000'000));
}

/// In the new child. Answers the pipe's number there.
int leave_the_parent(int pipe, sigset_t const& mask) noexcept {
  constexpr int kept = STDERR_FILENO + 1;
  ::setsid();
  if (pipe != kept) ::dup2(pipe, kept);
  ::fcntl(kept, F_SETFD, FD_CLOEXEC);
  ::close_range(kept + 1, std::numeric_limits<unsigned>::max(), 0);
  ::signal(SIGPIPE, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  return kept;
}

}  // namespace

Background::Background() : blocked_(ending_signals()) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) refuse();
  child_ = ::fork();
  if (child_ == 0) {
    pipe_ = Descriptor(leave_the_parent(ends[1], blocked_.before()));
    return;
  }
  int const error = errno;
  pipe_ = Descriptor(ends[0]);
  ::close(ends[1]);
  errno = error;
  if (child_ < 0) refuse();
}

int Background::wait(milliseconds patience) {
  auto const set = ending_signals();
  Descriptor const signals(::signalfd(-1, &set, SFD_CLOEXEC));
  std::array<pollfd, 2> events{pollfd{pipe_.get(), POLLIN, 0}, pollfd{signals.get(), POLLIN, 0}};
  auto const end = BootClock::now() + patience;
  while (::poll(events.data(), events.size(), milliseconds_until(end)) < 0 && errno == EINTR) {
  }
  if (events[0].revents != 0) {
    char word = 0;
    return ::read(pipe_.get(), &word, 1) == 1 ? number(ExitCode::ok) : status_of_child();
  }
  signalfd_siginfo info{};
  if (events[1].revents != 0 && ::read(signals.get(), &info, sizeof info) == sizeof info) {
    end_child(static_cast<int>(info.ssi_signo));
    return 128 + static_cast<int>(info.ssi_signo);
  }
  end_child(SIGTERM);
  throw Failure(ExitCode::unreachable,
                "it was not up after " + format_duration(patience) + " and has been ended",
                "holt doctor");
}

void Background::go_on() {
  Descriptor const nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (nothing.get() >= 0) ::dup2(nothing.get(), STDIN_FILENO);
  char const word = '\n';
  if (::write(pipe_.get(), &word, 1) != 1) {
    throw Failure(ExitCode::failed, "the command that started it is gone");
  }
  pipe_.close();
}

int Background::status_of_child() const {
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  talk_of_trouble("it was killed by signal " + std::to_string(WTERMSIG(status)));
  return number(ExitCode::failed);
}

/// The pipe has an end when the child has.
bool Background::is_gone_within(milliseconds time) const {
  auto const end = BootClock::now() + time;
  pollfd event{pipe_.get(), 0, 0};
  while (::poll(&event, 1, milliseconds_until(end)) < 0 && errno == EINTR) {
  }
  return event.revents != 0;
}

void Background::end_child(int signal) const {
  ::kill(child_, signal);
  if (!is_gone_within(time_to_end)) ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

}  // namespace holt::cli
