// SPDX-License-Identifier: Apache-2.0
#pragma once
// A signal as the text of a notification, "topic\ntext", which the server wants to be UTF-8 of less
// than 8,000 bytes: what is not plain ASCII is written %XX. A signal has at most 1 KiB, so it fits.

#include "contracts/signal_bus.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace holt::postgres {

[[nodiscard]] std::string to_notification(Signal const& signal);
/// Nothing: this was not written by Holt.
[[nodiscard]] std::optional<Signal> from_notification(std::string_view said);

}  // namespace holt::postgres
