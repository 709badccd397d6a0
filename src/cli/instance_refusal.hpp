// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why an instance does not come up, in words for people, with the ways out.

#include <holt/instance.hpp>

namespace holt::cli {

/// Throws Failure: a conflict.
[[noreturn]] void refuse(InstanceRefused const& refused);

}  // namespace holt::cli
