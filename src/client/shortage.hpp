// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a client is made of before there is a store: descriptors and threads. When the system has
// none left, the caller gets an EngineError as from a store that fails, and not the exception of
// whichever library noticed.

#include <holt/error.hpp>

#include <boost/system/system_error.hpp>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace holt::client {

inline EngineError shortage(int number, std::string_view operation, std::string const& reason) {
  std::string_view hint;
  if (number == EMFILE || number == ENFILE) {
    hint = "raise the limit of open files (ulimit -n) or close some";
  }
  if (number == EAGAIN) hint = "raise the limit of processes and threads (ulimit -u) or end some";
  bool const is_short = !hint.empty() || number == ENOMEM;
  return {is_short ? ErrorCode::rate_limited : ErrorCode::internal,
          Outcome::not_applied,
          "holt",
          operation,
          reason,
          hint};
}

/// Answers what `make` makes, which nobody has used yet.
template <class Make>
auto or_shortage(std::string_view operation, Make make) {
  try {
    return make();
  } catch (boost::system::system_error const& error) {
    throw shortage(error.code().value(), operation,
                   "the system refused what a client needs: " + error.code().message());
  } catch (std::system_error const& error) {
    throw shortage(error.code().value(), operation, error.what());
  }
}

}  // namespace holt::client
