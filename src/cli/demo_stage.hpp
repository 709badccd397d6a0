// SPDX-License-Identifier: Apache-2.0
#pragma once
// The stage of `holt demo`: worker processes (this binary again, as `holt demo-worker`) that do as
// they are told, one message each way at a time, and a clock that can be interrupted.
//   to a worker:   enter | write | leave | stand | stop | poll NODE | rest
//                  | work | finish
//   from it:       entered FENCE AT | writes FENCE HELD DEADLINE | left AT | leads TERM AT
//                  | stopped AT | polls ENDPOINT FENCE AT | polled ENDPOINT AT | rested
//                  | begins TASK FENCE AT ATTEMPT | did TASK AT | finished
// Times are BootClock nanoseconds, which all processes of a machine share.

#include "cli/descriptor.hpp"

#include <holt/clock.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {

/// What a worker says: a word and up to four numbers.
struct Message {
  int worker = 0;  ///< 1 is the first
  std::string word;
  std::vector<std::int64_t> numbers;
};

class Stage {
 public:
  /// Starts the workers on a store, in one of its instances. The signals of ending_signals() must
  /// be blocked. Throws std::system_error.
  Stage(int workers, std::string store_url, std::string instance);

  /// Kills what is left of them.
  ~Stage();
  Stage(Stage const&) = delete;
  Stage& operator=(Stage const&) = delete;

  /// Starts one more; its number. Throws std::system_error.
  int add_worker();

  void tell(int worker, std::string_view word);
  void signal(int worker, int signal) const noexcept;

  /// The next message of any worker; `meanwhile` is called ten times a second until it comes.
  /// Throws Failure when none comes for ten seconds, and as pause() does.
  [[nodiscard]] Message next(std::function<void()> const& meanwhile);

  /// Lets time pass. Throws Failure on Ctrl-C and its kin; a second one ends the process at once.
  void pause(std::chrono::milliseconds time);

 private:
  struct Worker {
    pid_t pid = -1;
    Descriptor socket;
  };

  [[noreturn]] void end_by_signal();

  std::string store_url_;
  std::string instance_;
  Descriptor signals_;
  std::vector<Worker> workers_;
};

}  // namespace holt::cli
