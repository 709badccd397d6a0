// SPDX-License-Identifier: Apache-2.0
#pragma once
// Remote: starts a worker process (worker.hpp) and talks to it; kills it at the end by its pid.
// TempStore: a folder for one test's store.

#include "support/temporary_folder.hpp"

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace holt::test {

class TempStore {
 public:
  [[nodiscard]] std::filesystem::path path() const { return folder_.file("store.db"); }
  [[nodiscard]] std::string url() const { return "sqlite://" + path().string(); }
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

class Remote {
 public:
  /// `environment` is added to ours: pairs of name and value.
  explicit Remote(std::string const& url,
                  std::vector<std::pair<std::string, std::string>> const& environment = {});
  ~Remote();
  Remote(Remote const&) = delete;
  Remote& operator=(Remote const&) = delete;

  /// Sends a command and waits for its answer; "(no answer)" after the patience or at its death.
  std::string ask(std::string const& command,
                  std::chrono::milliseconds patience = std::chrono::seconds(30));
  /// The two halves of ask.
  void send(std::string const& command) const;
  std::string answer(std::chrono::milliseconds patience = std::chrono::seconds(30));

  void signal(int number) const;
  /// SIGKILL, and waits until it is gone.
  void kill();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int input_ = -1;
  int output_ = -1;
  std::string buffered_;
};

}  // namespace holt::test
