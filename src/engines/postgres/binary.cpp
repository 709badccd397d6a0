// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/binary.hpp"

#include "engines/postgres/errors.hpp"

namespace holt::postgres {
namespace {

/// From the server's epoch, the beginning of 2000, to that of 1970.
constexpr std::int64_t epochs_apart_us = std::int64_t{946'684'800} * 1'000'000;

[[noreturn]] void malformed() {
  throw failed(ErrorCode::internal, Outcome::unknown, "read an answer",
               "the server's answer is not in the format that was asked for");
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::size_t size) {
    if (rest_.size() < size) malformed();
    auto const taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::int32_t number() {
    return static_cast<std::int32_t>(integer_of(take(sizeof(std::int32_t))));
  }
  std::size_t count() {
    auto const said = number();
    // Each has a length at least.
    if (said < 0 || static_cast<std::size_t>(said) > rest_.size() / sizeof(std::int32_t)) {
      malformed();
    }
    return static_cast<std::size_t>(said);
  }
  BinaryValue value() {
    auto const length = number();
    if (length < 0) return std::nullopt;
    return take(static_cast<std::size_t>(length));
  }

 private:
  std::string_view rest_;
};

}  // namespace

std::int64_t integer_of(BinaryValue const& value) {
  if (!value) return 0;
  std::uint64_t bits = 0;
  for (char const byte : *value) bits = bits << 8U | static_cast<unsigned char>(byte);
  switch (value->size()) {
    case sizeof(std::int16_t):
      return static_cast<std::int16_t>(bits);
    case sizeof(std::int32_t):
      return static_cast<std::int32_t>(bits);
    default:
      return static_cast<std::int64_t>(bits);
  }
}

bool flag_of(BinaryValue const& value) { return value && !value->empty() && value->front() != 0; }

std::string_view text_of(BinaryValue const& value) { return value.value_or(std::string_view()); }

std::int64_t us_since_epoch_of(BinaryValue const& value) {
  return value ? integer_of(value) + epochs_apart_us : 0;
}

std::vector<BinaryValue> elements_of(std::string_view array) {
  std::vector<BinaryValue> elements;
  if (array.empty()) return elements;
  Reader reader(array);
  auto const dimensions = reader.number();
  reader.take(2 * sizeof(std::int32_t));  // whether there are NULLs, and the type
  if (dimensions == 0) return elements;
  if (dimensions != 1) malformed();
  auto const count = reader.count();
  reader.take(sizeof(std::int32_t));  // from where they are counted
  elements.reserve(count);
  for (std::size_t i = 0; i < count; ++i) elements.push_back(reader.value());
  return elements;
}

std::vector<std::int64_t> integers_of(std::string_view array) {
  std::vector<std::int64_t> numbers;
  for (auto const& element : elements_of(array)) numbers.push_back(integer_of(element));
  return numbers;
}

std::vector<BinaryValue> columns_of(std::string_view row) {
  Reader reader(row);
  auto const count = reader.count();
  std::vector<BinaryValue> columns;
  columns.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    reader.take(sizeof(std::int32_t));  // its type
    columns.push_back(reader.value());
  }
  return columns;
}

}  // namespace holt::postgres
