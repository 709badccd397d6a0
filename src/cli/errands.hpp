// SPDX-License-Identifier: Apache-2.0
#pragma once
// Commands that run beside each other, each for an errand of its own: in a group of processes of
// its own, under the watchdog's eye, and ended before its lease can pass on.
//
//   running --(told to stop: to move, cancelled, we stop; timeout)--> TERM, ending --(grace)-->
//   KILL running --(lease not renewed: deadline - grace)--> TERM, ending --(deadline)--> KILL
//   running --(lost)--> KILL
//
// One thread, the main one, which sleeps in wait() until there is something to see to.

#include "cli/boot_timer.hpp"
#include "cli/descriptor.hpp"
#include "cli/watchdog.hpp"

#include <holt/clock.hpp>

#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace holt::cli {

/// How a command came to its end.
struct CommandExit {
  int code = 0;             ///< its exit code; -1: it died of `signal`
  int signal = 0;           ///< 0: of none
  bool ended = false;       ///< we made it end, and its code says nothing,
  std::string why;          ///< for this reason; empty: not worth a word
  bool unattended = false;  ///< the watchdog killed it, for we could not act

  /// For people: `was ended: it was cancelled`, `failed: exit code 3`. Empty: nothing to tell.
  [[nodiscard]] std::string text() const;
};

/// What a command is run for, and under which lease.
class Errand {
 public:
  virtual ~Errand() = default;
  [[nodiscard]] virtual bool held() const = 0;
  [[nodiscard]] virtual Instant deadline() const = 0;
  /// Fires when held() turns false, and when it is to end for another reason,
  [[nodiscard]] virtual std::stop_token stop() const = 0;
  /// which is this one; empty: not worth a word.
  [[nodiscard]] virtual std::string why_stopped() const = 0;
  /// The command is gone.
  virtual void finish(CommandExit const& exit) = 0;
};

/// The command of an errand.
struct ErrandCommand {
  std::vector<std::string> words;
  std::vector<std::string> environment;
  int input = -1;   ///< -1: nothing to read
  int output = -1;  ///< -1: ours
  int errors = -1;  ///< -1: ours
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<rlimit> open_files;  ///< nothing: as many as we may have
};

class Errands {
 public:
  /// At most `places` at a time; the watchdog has as many. Blocks signals from here on. Throws
  /// std::system_error.
  Errands(Watchdog& watchdog, std::size_t places, std::chrono::milliseconds grace,
          sigset_t const& child_mask);
  ~Errands() { abandon(); }
  Errands(Errands const&) = delete;
  Errands& operator=(Errands const&) = delete;

  /// Starts the command. Answers 0, or errno: then there is no command, and the errand is dropped.
  /// ETIME: its lease has ended.
  [[nodiscard]] int start(std::unique_ptr<Errand> errand, ErrandCommand const& command);

  /// Ends those that have to end.
  void check();
  /// Ends all of them, with a grace.
  void end_all(std::string const& why);
  void kill_all() noexcept;
  /// Kills what runs, and waits for its end; nobody is told.
  void abandon() noexcept;
  /// Tells of those that are gone.
  void reap();

  [[nodiscard]] bool empty() const noexcept { return running_.empty(); }
  /// How many run.
  [[nodiscard]] std::size_t count() const noexcept { return running_.size(); }

  /// Sleeps until something happens, `until` at the latest. What it was, the checks find out.
  void wait(Instant until = Instant::max());
  /// Makes wait() return, from any thread: an eventfd.
  [[nodiscard]] int wake() const noexcept { return wake_.get(); }
  /// A signal that asks for something, if one has come: HUP, INT, QUIT, TERM. The same one twice
  /// within a fifth of a second, but for HUP, is one request.
  [[nodiscard]] std::optional<signalfd_siginfo> next_signal();

 private:
  struct Wake {
    int fd;
    void operator()() const noexcept;
  };
  /// One command that runs.
  struct Running {
    std::unique_ptr<Errand> errand;
    std::size_t place = 0;
    pid_t pid = -1;
    Instant deadline;  ///< the watchdog's, as we last moved it
    Instant timeout_at = Instant::max();
    std::chrono::milliseconds timeout{};
    Instant kill_at;  ///< while ending
    bool ending = false;
    std::string why{};
    std::optional<std::stop_callback<Wake>> on_stop{};
  };

  void check(Running& running, Instant now);
  void end(Running& running, Instant kill_at, std::string why);
  [[nodiscard]] Instant next_check() const;
  [[nodiscard]] bool is_echo(int signal) noexcept;
  [[nodiscard]] CommandExit exit_of(Running const& running, siginfo_t const& info) const;

  Watchdog& watchdog_;
  std::chrono::milliseconds const grace_;
  sigset_t const& child_mask_;
  struct sigaction on_child_{};
  Descriptor signals_;
  Descriptor wake_;
  Descriptor no_input_;
  BootTimer timer_;
  std::list<Running> running_;
  std::vector<std::size_t> free_places_;
  int last_signal_ = 0;
  Instant last_signal_at_;
};

/// True for an errno of start() that another errand, or another moment, may not meet.
[[nodiscard]] bool is_passing(int error) noexcept;

}  // namespace holt::cli
