// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can go wrong, in two exception types. Contention is not among them: that somebody else
// holds a lock is an answer (Busy, Lost), given as a value.
//   InvalidArgument  the caller's input is wrong; refused before any I/O
//   EngineError      the store did not do it; `outcome()` says whether it may have

#include <stdexcept>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace holt {

/// What the caller can do about it is decided by this, never by the text.
enum class ErrorCode {
  service_unavailable,  ///< cannot reach or use the store now; try again later
  auth_failed,          ///< credentials or permissions refused
  invalid_argument,     ///< the store's address or setting is wrong
  rate_limited,         ///< the store asks us to slow down, or is out of a resource
  network_timeout,      ///< no answer before the deadline
  acquisition_timeout,  ///< gave up waiting
  aborted,              ///< the caller, or closing, ended it
  not_durable,          ///< done, but not as durably as was asked
  fence_regression,     ///< a grant came with a fence that is not above the last one seen
  internal,             ///< anything else; a damaged store too
};

/// Whether the change may have happened.
enum class Outcome {
  not_applied,  ///< it did not happen
  unknown,      ///< it may have happened: ask again with the same owner, or let the ttl end it
};

[[nodiscard]] std::string_view to_string(ErrorCode code) noexcept;
[[nodiscard]] std::string_view to_string(Outcome outcome) noexcept;

/// Input that can never work. `what()` says what was wrong and what would be right.
class InvalidArgument : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// The store failed. `what()` is for people: what failed, on what, why.
class EngineError : public std::runtime_error {
 public:
  EngineError(ErrorCode code, Outcome outcome, std::string_view engine, std::string_view operation,
              std::string_view reason, std::string_view hint = {});

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  [[nodiscard]] Outcome outcome() const noexcept { return outcome_; }
  [[nodiscard]] std::string const& engine() const noexcept { return engine_; }
  [[nodiscard]] std::string const& operation() const noexcept { return operation_; }
  /// The cause without the frame around it, secrets removed.
  [[nodiscard]] std::string const& reason() const noexcept { return reason_; }
  /// What a person could try; may be empty.
  [[nodiscard]] std::string const& hint() const noexcept { return hint_; }
  /// True where the same call may succeed later without anybody changing anything.
  [[nodiscard]] bool retryable() const noexcept;

 private:
  ErrorCode code_;
  Outcome outcome_;
  std::string engine_;
  std::string operation_;
  std::string reason_;
  std::string hint_;
};

}  // namespace holt
#pragma GCC visibility pop
