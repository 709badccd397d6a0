// SPDX-License-Identifier: Apache-2.0
#pragma once
// What goes over the wire and comes back, without a socket. hiredis reads the replies.

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct redisReply;   // NOLINT(readability-identifier-naming): hiredis' own
struct redisReader;  // NOLINT(readability-identifier-naming): the same

namespace holt::redis {

/// One reply, or a part of one. A part lives as long as the whole.
class ReplyView {
 public:
  explicit ReplyView(redisReply const* reply) : reply_(reply) {}

  [[nodiscard]] bool is_error() const;
  [[nodiscard]] bool is_nil() const;
  [[nodiscard]] bool is_text() const;  ///< a string or a status
  [[nodiscard]] bool is_array() const;
  /// Throws EngineError{internal, unknown}, as the next ones, when it is something else.
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] std::string_view text() const;  ///< of an error too
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] ReplyView operator[](std::size_t index) const;

 private:
  redisReply const* reply_;
};

class Reply {
 public:
  Reply() = default;
  explicit Reply(redisReply* owned);

  [[nodiscard]] ReplyView const& operator*() const { return view_; }
  [[nodiscard]] ReplyView const* operator->() const { return &view_; }

  /// An error reply that says this.
  [[nodiscard]] static Reply refusal(std::string_view text);

  /// There is none.
  [[nodiscard]] bool empty() const { return !reply_; }
  /// Takes a part out of a list; empty, if that is nil.
  [[nodiscard]] Reply take(std::size_t index);

 private:
  struct Free {
    void operator()(redisReply* reply) const noexcept;
  };
  std::unique_ptr<redisReply, Free> reply_;
  ReplyView view_{nullptr};
};

/// Takes bytes as they come and gives replies as they are complete.
class ReplyReader {
 public:
  ReplyReader();
  void feed(std::string_view bytes);
  /// Nothing: more bytes are needed. Throws std::runtime_error when this is no Redis server.
  std::optional<Reply> next();

 private:
  struct Free {
    void operator()(redisReader* reader) const noexcept;
  };
  std::unique_ptr<redisReader, Free> reader_;
};

/// A number as text.
class Digits {
 public:
  explicit Digits(std::integral auto value) {
    size_ = static_cast<std::size_t>(std::to_chars(text_.begin(), text_.end(), value).ptr -
                                     text_.data());
  }
  // NOLINTNEXTLINE(google-explicit-constructor): a number may be a word
  operator std::string_view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 20> text_{};
  std::size_t size_ = 0;
};

/// Appends how many words a command has; then come its words.
void append_count(std::string& bytes, std::size_t words);

/// Appends a word that consists of these parts.
void append_word(std::string& bytes, std::initializer_list<std::string_view> parts);

/// The bytes of a command. By hand: hiredis' own formatter spends more time in sprintf than the
/// whole rest of a call takes.
[[nodiscard]] std::string command(std::vector<std::string_view> const& words);

/// The same with its words one by one. No list in braces: beside a co_await g++ 12 refuses those.
template <class... Words>
  requires(std::convertible_to<Words const&, std::string_view> && ...)
[[nodiscard]] std::string command(Words const&... words) {
  std::string bytes;
  append_count(bytes, sizeof...(words));
  (append_word(bytes, {std::string_view(words)}), ...);
  return bytes;
}

}  // namespace holt::redis
