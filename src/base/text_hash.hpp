// SPDX-License-Identifier: Apache-2.0
#pragma once
// The hash under which a name or an owner is shown to those who are not to see it: 24 hex digits,
// the same everywhere. It hides what cannot be guessed; it is no secret of what can.

#include <string>
#include <string_view>

namespace holt {

[[nodiscard]] std::string text_hash(std::string_view text);

}  // namespace holt
