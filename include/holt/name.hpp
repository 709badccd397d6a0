// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of leases and of instances, checked where they enter.
// A Name that exists is valid: UTF-8 in normal form NFC, 1 to 512 bytes in that form, no control
// characters, not blank. Two spellings that look the same to Unicode are the same name.

#include <compare>
#include <expected>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace holt {

class Name {
 public:
  static constexpr std::size_t max_bytes = 512;

  /// Checks and normalises. The error is one sentence: what was wrong and what would be right.
  [[nodiscard]] static std::expected<Name, std::string> parse(std::string_view text);

  /// As parse; throws InvalidArgument. Implicit, so that a literal is a name.
  Name(std::string_view text);  // NOLINT(google-explicit-constructor): a literal is a name
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is a name
  Name(char const* text) : Name(std::string_view(text)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is a name
  Name(std::string const& text) : Name(std::string_view(text)) {}

  [[nodiscard]] std::string const& text() const noexcept { return text_; }

  /// 24 hex digits that stand for the name where it should not be told (logs, metrics).
  /// Not a secret: a short name can be guessed from it.
  [[nodiscard]] std::string hash() const;

  friend auto operator<=>(Name const&, Name const&) = default;

 private:
  struct Checked {};
  Name(Checked, std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// Checks an instance's name: `^[a-z][a-z0-9-]*$`, at most 63 characters, no hyphen at the end.
/// The error is one sentence: what was wrong and what would be right.
[[nodiscard]] std::expected<std::string, std::string> parse_instance(std::string_view text);

}  // namespace holt
#pragma GCC visibility pop
