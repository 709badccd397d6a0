// SPDX-License-Identifier: Apache-2.0
#include "cli/lock_handle.hpp"

#include "cli/command_line.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/text.hpp"

#include <holt/lease.hpp>
#include <holt/open.hpp>

#include <string>

namespace holt::cli {

void HandleOptions::declare(CommandLine& line) {
  line.word("NAME", name_);
  line.setting("--owner", "OWNER", owner_, "the owner that try or acquire printed (HOLT_OWNER)",
               CommandLine::Scope::shared);
}

Handle HandleOptions::handle() const {
  Name const name(name_);
  if (!owner_ || owner_->value.empty()) {
    throw UsageError("the owner is missing", "--owner OWNER, as holt lock try printed it");
  }
  auto owner = Owner::parse(owner_->value);
  if (!owner) throw UsageError(owner.error());
  return {name, *owner};
}

void refuse_lost(Holt& holt, Handle const& handle) {
  auto const found = holt.find(handle.name);
  if (!found) {
    throw Failure(ExitCode::not_found, "nobody holds it: its lease has ended or was released");
  }
  if (found->owner == handle.owner && !found->broken.empty()) {
    throw Failure(
        ExitCode::conflict, "you were asked to stop: " + in_quotes(found->broken),
        "holt lock release " + as_argument(handle.name.text()) + " --owner " + handle.owner.text());
  }
  throw Failure(ExitCode::conflict,
                "another owner holds it (fence " + found->fence.decimal() + ", expires in " +
                    rounded_duration(found->expires_in) + ")",
                "holt lock show " + as_argument(handle.name.text()));
}

}  // namespace holt::cli
