// SPDX-License-Identifier: Apache-2.0
#include <holt/capabilities.hpp>

namespace holt {

std::string_view to_string(Durability durability) noexcept {
  switch (durability) {
    case Durability::embedded:
      return "embedded";
    case Durability::single:
      return "single";
    case Durability::redis_wait:
      return "redis-wait";
    case Durability::pg_sync:
      return "pg-sync";
  }
  return "unknown";
}

std::string_view to_string(TimeAuthority time) noexcept {
  return time == TimeAuthority::host ? "host" : "server";
}

std::string_view to_string(Waiting waiting) noexcept {
  return waiting == Waiting::line ? "line" : "polling";
}

}  // namespace holt
