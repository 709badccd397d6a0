// SPDX-License-Identifier: Apache-2.0
#pragma once
// An instance as a record of an answer.

#include "cli/output.hpp"

#include <holt/instance.hpp>

#include <chrono>
#include <string>

namespace holt::cli {

[[nodiscard]] Record instance_record(InstanceInfo const& instance);

/// As people say it: `1h 5m`, `5m 3s`, `7s`.
[[nodiscard]] std::string uptime_text(std::chrono::seconds uptime);

}  // namespace holt::cli
