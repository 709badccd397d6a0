// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_stage.hpp"

#include "cli/demo_word.hpp"
#include "cli/descriptor.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/signals.hpp"

#include <holt/clock.hpp>

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds patience{10'000};
constexpr milliseconds tick{100};

[[noreturn]] void fail(char const* what, int error = errno) {
  throw std::system_error(error, std::system_category(), what);
}

/// "entered 12 34" as a word and numbers.
Message parse(int worker, std::string_view text) {
  Message message{
      .worker = worker, .word = std::string(text.substr(0, text.find(' '))), .numbers = {}};
  text.remove_prefix(message.word.size());
  while (!text.empty()) {
    text.remove_prefix(1);
    std::int64_t number = 0;
    auto const read = std::from_chars(text.data(), text.data() + text.size(), number);
    message.numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  }
  return message;
}

/// posix_spawn's settings: no signal blocked, in a group where our Ctrl-C does not reach it.
class SpawnSettings {
 public:
  explicit SpawnSettings(int socket) {
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, socket, demo_socket);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(SpawnSettings const&) = delete;
  SpawnSettings& operator=(SpawnSettings const&) = delete;

  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_t actions{};
};

}  // namespace

Stage::Stage(int workers, std::string store_url, std::string instance)
    : store_url_(std::move(store_url)), instance_(std::move(instance)) {
  auto const set = ending_signals();
  signals_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!signals_.is_open()) fail("cannot watch for signals");
  for (int i = 0; i < workers; ++i) add_worker();
}

Stage::~Stage() {
  for (auto const& worker : workers_) ::kill(worker.pid, SIGKILL);
  for (auto const& worker : workers_) ::waitpid(worker.pid, nullptr, 0);
}

int Stage::add_worker() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("socketpair");
  Worker worker{.pid = -1, .socket = Descriptor(ends[0])};
  Descriptor const theirs(ends[1]);
  SpawnSettings const settings(theirs.get());
  std::array<std::string, 6> words{"holt",     "demo-worker", "--store",
                                   store_url_, "--instance",  instance_};
  std::array<char*, words.size() + 1> argv{};
  std::ranges::transform(words, argv.begin(), [](std::string& word) { return word.data(); });
  auto const error = ::posix_spawn(&worker.pid, "/proc/self/exe", &settings.actions,
                                   &settings.attributes, argv.data(), environ);
  if (error != 0) fail("cannot start a worker", error);
  workers_.push_back(std::move(worker));
  return static_cast<int>(workers_.size());
}

void Stage::tell(int worker, std::string_view word) {
  auto const& socket = workers_.at(static_cast<std::size_t>(worker - 1)).socket;
  if (::send(socket.get(), word.data(), word.size(), MSG_NOSIGNAL) < 0) fail("a worker is gone");
}

void Stage::signal(int worker, int signal) const noexcept {
  ::kill(workers_.at(static_cast<std::size_t>(worker - 1)).pid, signal);
}

Message Stage::next(std::function<void()> const& meanwhile) {
  std::vector<pollfd> events{{signals_.get(), POLLIN, 0}};
  for (auto const& worker : workers_) events.push_back({worker.socket.get(), POLLIN, 0});
  int ready = 0;
  for (auto waited = tick; ready <= 0 && waited <= patience; waited += tick) {
    ready = ::poll(events.data(), events.size(), static_cast<int>(tick.count()));
    if (ready <= 0) meanwhile();
  }
  if (ready <= 0) throw Failure(ExitCode::failed, "no worker has said anything for ten seconds");
  if (events[0].revents != 0) end_by_signal();
  auto const event = std::ranges::find_if(events, [](pollfd const& e) { return e.revents != 0; });
  auto const index = event - events.begin() - 1;
  std::array<char, 256> buffer{};
  auto const size = ::recv(event->fd, buffer.data(), buffer.size(), 0);
  if (size > 0) {
    return parse(static_cast<int>(index + 1), {buffer.data(), static_cast<std::size_t>(size)});
  }
  // Its end: expected of one that was killed, and told once.
  workers_[static_cast<std::size_t>(index)].socket.close();
  return {.worker = static_cast<int>(index + 1), .word = "gone", .numbers = {}};
}

void Stage::pause(milliseconds time) {
  pollfd event{signals_.get(), POLLIN, 0};
  if (::poll(&event, 1, static_cast<int>(time.count())) > 0) end_by_signal();
}

void Stage::end_by_signal() {
  signalfd_siginfo info{};
  [[maybe_unused]] auto const got = ::read(signals_.get(), &info, sizeof info);
  auto const second = ending_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &second, nullptr);
  throw Failure(static_cast<ExitCode>(128 + info.ssi_signo), "interrupted");
}

}  // namespace holt::cli
