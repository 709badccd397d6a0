// SPDX-License-Identifier: Apache-2.0
#pragma once
// A call of one of our scripts, written straight into the bytes that go over the wire: first its
// keys, then the other words, as many of each as was said before.

#include "engines/redis/reply.hpp"

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace holt::redis {

struct Script;  // redis_scripts.hpp has them all

/// What comes before the first key: EVALSHA with the script's SHA, or EVAL with its text.
void append_head(std::string& bytes, std::string_view verb, std::string_view script,
                 std::size_t keys, std::size_t words);

/// Whether a server says that it does not know a script by its SHA.
[[nodiscard]] bool is_unknown_script(ReplyView const& reply);

class ScriptCall {
 public:
  ScriptCall(Script const& script, std::size_t keys, std::size_t words);

  /// The next key or word, of these parts.
  template <class... Parts>
    requires(std::convertible_to<Parts const&, std::string_view> && ...)
  ScriptCall& add(Parts const&... parts) {
    --missing_;
    append_word(bytes_, {std::string_view(parts)...});
    return *this;
  }
  ScriptCall& add(std::integral auto number) { return add(Digits(number)); }

  [[nodiscard]] std::string_view name() const;
  /// With the SHA that servers know the script by. Not before all of it was added.
  [[nodiscard]] std::string const& by_sha() const;
  /// With its text, for a server that does not know it.
  [[nodiscard]] std::string with_text() const;
  /// Which decides on a cluster whose call it is; empty: it has none.
  [[nodiscard]] std::string_view first_key() const;

 private:
  Script const* script_;
  std::size_t keys_;
  std::size_t words_;
  std::size_t missing_;
  std::size_t body_;  ///< where the first key begins
  std::string bytes_;
};

}  // namespace holt::redis
