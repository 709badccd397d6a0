// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lease events on stderr, as HOLT_LOG_LEVEL (debug, info, warn, error, off; default warn) and
// HOLT_LOG_FORMAT (text, json; default text) ask for. Nothing is set up before the first event.
// A program that serves for long tells more (info), and may have a file of its own to tell it to.

#include <holt/log.hpp>
#include <holt/open.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace holt::cli {

class LogWriter;

/// Sets the level and the callback. Throws UsageError for a setting that is no setting.
void log_to_stderr(OpenOptions& options);

/// The log of a program that serves. A handle: copies are the same log. Any thread.
class ServiceLog {
 public:
  enum class Place {
    standard_error,
    file  ///< everything is kept until open_file() is called, and lost if it never is
  };
  /// Throws UsageError for a setting that is no setting.
  explicit ServiceLog(Place place);

  /// Sets the level and the callback of a client.
  void attach(OpenOptions& options) const;

  void write(LogEvent const& event) const;

  /// From here on it is written to this file, and so is whatever this process writes to stdout and
  /// stderr. When it is larger than `bytes` another begins; the last three are kept, for nobody
  /// else to read. Throws Failure.
  void open_file(std::string const& path, std::size_t bytes) const;

 private:
  std::shared_ptr<LogWriter> writer_;  ///< null: nothing is logged
  LogLevel level_ = LogLevel::info;
};

/// Waits for events that a client has made but a thread of it has not yet written, 2 s at most.
/// Call it once, when every client is closed and the process is about to end.
void finish_log() noexcept;

}  // namespace holt::cli
