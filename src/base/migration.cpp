// SPDX-License-Identifier: Apache-2.0
#include <holt/migration.hpp>

namespace holt {

std::string_view to_string(MigrationState state) noexcept {
  switch (state) {
    case MigrationState::applied:
      return "applied";
    case MigrationState::pending:
      return "pending";
    case MigrationState::applied_now:
      return "applied_now";
  }
  return "?";
}

}  // namespace holt
