// SPDX-License-Identifier: Apache-2.0
#include <holt/error.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

namespace holt {
namespace {

std::string sentence(std::string_view engine, std::string_view operation, std::string_view reason) {
  std::string text;
  for (auto const part : {engine, operation, reason}) {
    if (part.empty()) continue;
    if (!text.empty()) text += ": ";
    text += part;
  }
  return text;
}

}  // namespace

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::service_unavailable:
      return "service_unavailable";
    case ErrorCode::auth_failed:
      return "auth_failed";
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::rate_limited:
      return "rate_limited";
    case ErrorCode::network_timeout:
      return "network_timeout";
    case ErrorCode::acquisition_timeout:
      return "acquisition_timeout";
    case ErrorCode::aborted:
      return "aborted";
    case ErrorCode::not_durable:
      return "not_durable";
    case ErrorCode::fence_regression:
      return "fence_regression";
    case ErrorCode::internal:
      return "internal";
  }
  return "unknown";
}

std::string_view to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::not_applied:
      return "not_applied";
    case Outcome::unknown:
      return "unknown";
  }
  return "unknown";
}

EngineError::EngineError(ErrorCode code, Outcome outcome, std::string_view engine,
                         std::string_view operation, std::string_view reason, std::string_view hint)
    : std::runtime_error(sentence(engine, operation, reason)),
      code_(code),
      outcome_(outcome),
      engine_(engine),
      operation_(operation),
      reason_(reason),
      hint_(hint) {}

bool EngineError::retryable() const noexcept {
  switch (code_) {
    case ErrorCode::service_unavailable:
    case ErrorCode::rate_limited:
    case ErrorCode::network_timeout:
    case ErrorCode::acquisition_timeout:
      return true;
    case ErrorCode::auth_failed:
    case ErrorCode::invalid_argument:
    case ErrorCode::aborted:
    case ErrorCode::not_durable:
    case ErrorCode::fence_regression:
    case ErrorCode::internal:
      return false;
  }
  return false;
}

}  // namespace holt
