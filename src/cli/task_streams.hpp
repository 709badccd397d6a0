// SPDX-License-Identifier: Apache-2.0
#pragma once
// The standard streams of a command that does a task: the payload to read, what it writes as the
// result, and what it complains of, which is passed on to our stderr and whose end is kept.
// The thread that has the task waits here until the command is gone; the main thread says when.

#include "cli/descriptor.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace holt::cli {

class TaskStreams {
 public:
  /// Throws std::system_error.
  explicit TaskStreams(std::string_view payload);

  // For the command.
  [[nodiscard]] int input() const noexcept { return input_.get(); }
  [[nodiscard]] int output() const noexcept { return output_.writing.get(); }
  [[nodiscard]] int errors() const noexcept { return errors_.writing.get(); }

  /// Reads until command_is_gone() was called, and then what is left. What processes that the
  /// command left behind write later is dropped.
  void read_all();
  /// From any thread.
  void command_is_gone() noexcept;

  /// What it wrote to its standard output. One byte above the limit says that it was too much.
  [[nodiscard]] std::string& result() noexcept { return result_; }
  /// The end of what it wrote to its standard error, without the last line break.
  [[nodiscard]] std::string complaint() const;

 private:
  struct Pipe {
    Pipe();
    Descriptor reading;
    Descriptor writing;
  };

  [[nodiscard]] bool read_some();
  void keep_result(std::string_view part);
  void keep_complaint(std::string_view part);

  Descriptor input_;
  Pipe output_;
  Pipe errors_;
  Descriptor gone_;
  std::string result_;
  std::string complaint_;
};

}  // namespace holt::cli
