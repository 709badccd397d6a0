// SPDX-License-Identifier: Apache-2.0
#pragma once
// The clauses of the contract that the layout syncguard cannot keep on any engine, each with its
// reason.

#include "support/engines.hpp"

#include <vector>

namespace holt::test {

[[nodiscard]] std::vector<Exclusion> not_in_syncguard();

}  // namespace holt::test
