// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values inside values, in the protocol's binary format: an array says its dimensions, type and
// length before its elements, a row its number of columns and the type of each. Of an array with
// NULLs and of a row the values are read one by one. All of it refers to the bytes of the answer.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace holt::postgres {

/// Nothing: NULL.
using BinaryValue = std::optional<std::string_view>;

/// int2, int4 or int8, whichever it is; 0 for NULL.
[[nodiscard]] std::int64_t integer_of(BinaryValue const& value);
[[nodiscard]] bool flag_of(BinaryValue const& value);
/// Text or bytes; empty for NULL.
[[nodiscard]] std::string_view text_of(BinaryValue const& value);
/// A timestamptz in microseconds since 1970; 0 for NULL.
[[nodiscard]] std::int64_t us_since_epoch_of(BinaryValue const& value);

/// The elements of an array of one dimension; none for NULL. Throws EngineError for what is none.
[[nodiscard]] std::vector<BinaryValue> elements_of(std::string_view array);
[[nodiscard]] std::vector<std::int64_t> integers_of(std::string_view array);
/// The columns of a row.
[[nodiscard]] std::vector<BinaryValue> columns_of(std::string_view row);

}  // namespace holt::postgres
