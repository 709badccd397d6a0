// SPDX-License-Identifier: Apache-2.0
#include "base/text_hash.hpp"

#include <xxhash.h>

#include <span>

namespace holt {

std::string text_hash(std::string_view text) {
  constexpr std::size_t shown_bytes = 12;
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(text.data(), text.size()));
  std::string digits;
  for (auto const byte : std::span(canonical.digest).first<shown_bytes>()) {
    digits += "0123456789abcdef"[byte >> 4U];
    digits += "0123456789abcdef"[byte & 15U];
  }
  return digits;
}

}  // namespace holt
