// SPDX-License-Identifier: Apache-2.0
#pragma once
// OtherProcess: runs a test of this same program in a process of its own. Such a test is called
// DISABLED_..., so that it only runs when it is asked for, and gets its settings from the
// environment.

#include <sys/types.h>

#include <map>
#include <string>

namespace holt::test {

using Settings = std::map<std::string, std::string>;

class OtherProcess {
 public:
  /// Starts the test `name` ("Suite.DISABLED_Test") with these settings.
  OtherProcess(std::string const& name, Settings const& settings);
  /// Kills it if it still runs.
  ~OtherProcess();
  OtherProcess(OtherProcess&& other) noexcept;
  OtherProcess& operator=(OtherProcess&&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Waits for its end: its exit status, or -1 when a signal ended it.
  int wait();
  /// Waits up to 10 s until it is stopped.
  bool wait_until_stopped() const;

 private:
  pid_t pid_ = -1;
};

/// In the other process: what it was given.
[[nodiscard]] Settings other_process_settings();

}  // namespace holt::test
