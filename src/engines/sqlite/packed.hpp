// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packs numbers and texts into bytes, and reads them again in the same order. A number takes a byte
// for each 7 bits, a text its length and then itself. What is read is checked: a file can be
// damaged.

#include "engines/sqlite/errors.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace holt::sqlite {

class Packer {
 public:
  explicit Packer(std::string& into) : into_(into) {}

  Packer& number(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) into_ += static_cast<char>(value | 0x80U);
    into_ += static_cast<char>(value);
    return *this;
  }
  Packer& text(std::string_view value) {
    number(value.size());
    into_ += value;
    return *this;
  }

 private:
  std::string& into_;
};

/// What it answers lives as long as the bytes.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool done() const noexcept { return bytes_.empty(); }
  /// What was not read yet.
  [[nodiscard]] std::string_view rest() const noexcept { return bytes_; }

  template <class Integer = std::uint64_t>
  [[nodiscard]] Integer number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      auto const byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80U) return static_cast<Integer>(value);
    }
    damaged();
  }
  [[nodiscard]] std::string_view text() {
    auto const size = number();
    if (size > bytes_.size()) damaged();
    auto const value = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return value;
  }

  /// What was read cannot be.
  [[noreturn]] static void damaged() {
    throw store_error(ErrorCode::internal, "read", "a packed value in the store is damaged",
                      "restore the file from a backup");
  }

 private:
  std::string_view bytes_;
};

}  // namespace holt::sqlite
