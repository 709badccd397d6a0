// SPDX-License-Identifier: Apache-2.0
#pragma once
// ServerProcess: a server program (Redis, PostgreSQL, anything) that a test runs as its child: in a
// process group of its own, with a log file, started, waited for, frozen, killed and started again
// on demand. It is gone when the object goes, and also when the test process dies in any way.
//
// Calls of one object come from one thread at a time. Nothing here knows a kind of server.

#include "support/servers/spawn.hpp"

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace holt::test {

/// A server did not do what it was started for; the text has the last lines of its log.
class ServerFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// It could not listen: another program has the port.
class PortTaken : public ServerFailed {
 public:
  using ServerFailed::ServerFailed;
};

class ServerProcess {
 public:
  /// Starts nothing yet. `name` is for error texts.
  ServerProcess(std::string name, SpawnPlan plan)
      : name_(std::move(name)), plan_(std::move(plan)) {}
  /// Stops it.
  ~ServerProcess();
  ServerProcess(ServerProcess const&) = delete;
  ServerProcess& operator=(ServerProcess const&) = delete;

  /// Starts the program, which must not run. It may not be ready yet: await() that.
  void start();
  /// Waits until `ready` answers true, asked every few milliseconds. Throws ServerFailed when the
  /// server ends before (PortTaken when that is why) or has not got there in time.
  void await(std::string const& what, std::function<bool()> const& ready,
             std::chrono::milliseconds patience = std::chrono::seconds(30));

  /// Ends it as its operator would: `signal` (SIGTERM), and SIGKILL for the whole group when that
  /// has not helped in time. Nothing when it does not run.
  void stop(std::chrono::milliseconds patience = std::chrono::seconds(10), int signal = SIGTERM);
  /// Ends it without a warning, the whole group, and waits until it is gone.
  void kill();
  /// Stops its clockwork, as a machine that hangs; waits until it stands still.
  void freeze();
  void thaw();

  /// Whether it has been started and has not ended.
  [[nodiscard]] bool running();
  /// 0 when it does not run.
  [[nodiscard]] pid_t pid();
  [[nodiscard]] std::string const& name() const { return name_; }

  /// The last lines of its log, of all its lives.
  [[nodiscard]] std::string log_tail(std::size_t lines = 15) const;

 private:
  /// Collects it if it has ended; whether it has.
  bool ended();
  bool ends_within(std::chrono::milliseconds patience);
  [[nodiscard]] std::string with_log(std::string const& what) const;

  std::string name_;
  SpawnPlan plan_;
  pid_t pid_ = 0;
  int status_ = 0;
  std::size_t log_start_ = 0;  ///< where the log of this life begins
};

/// Runs a program that ends by itself; throws ServerFailed, with the end of its log, when it does
/// not end in time or not with status 0.
void run_program(std::string const& name, SpawnPlan plan,
                 std::chrono::milliseconds patience = std::chrono::seconds(60));

}  // namespace holt::test
