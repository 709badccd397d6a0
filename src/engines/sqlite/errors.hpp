// SPDX-License-Identifier: Apache-2.0
#pragma once
// What SQLite and the system say, turned into EngineError. One table says what each result code
// means for the caller: which kind of error, whether the change may have happened when it came
// from COMMIT, and what a person could try.

#include <holt/error.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace holt::sqlite {

/// SQLite's own words; thrown by Connection and caught where operation and path are known.
class DatabaseError : public std::runtime_error {
 public:
  /// `code` is an extended result code, `system_error` the errno behind it or 0.
  DatabaseError(int code, std::string const& text, int system_error);

  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] int primary() const noexcept { return code_ & 0xff; }
  [[nodiscard]] int system_error() const noexcept { return system_error_; }
  /// The handle cannot be trusted any more: close it and open a new one.
  [[nodiscard]] bool poisons_connection() const noexcept;

 private:
  int code_;
  int system_error_;
};

/// Where in a transaction it failed: before COMMIT nothing was applied, whatever the code says.
enum class During { step, commit };

[[nodiscard]] EngineError engine_error(DatabaseError const& error, std::string_view operation,
                                       std::string_view path, During during = During::step);

/// The system refused something about `path`: `what` is "cannot open", `number` the errno.
[[nodiscard]] EngineError system_error(int number, std::string_view operation,
                                       std::string_view what, std::string_view path);

/// A failure with our own words; never applied.
[[nodiscard]] EngineError store_error(ErrorCode code, std::string_view operation,
                                      std::string_view reason, std::string_view hint = {});

}  // namespace holt::sqlite
