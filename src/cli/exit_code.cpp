// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.hpp"

#include <holt/error.hpp>

namespace holt::cli {

ExitCode exit_code_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::service_unavailable:
    case ErrorCode::rate_limited:
    case ErrorCode::network_timeout:
      return ExitCode::unreachable;
    case ErrorCode::auth_failed:
      return ExitCode::not_allowed;
    case ErrorCode::invalid_argument:
      return ExitCode::usage;
    case ErrorCode::acquisition_timeout:
      return ExitCode::conflict;
    case ErrorCode::aborted:
      return ExitCode::interrupted;
    case ErrorCode::not_durable:
    case ErrorCode::fence_regression:
    case ErrorCode::internal:
      return ExitCode::failed;
  }
  return ExitCode::failed;
}

}  // namespace holt::cli
