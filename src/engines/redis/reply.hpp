// SPDX-License-Identifier: Apache-2.0
#pragma once
// What goes over the wire and comes back, without a socket. hiredis reads the replies.

#include <concepts>
#include <cstddef>
#include <cstdint>
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

/// The bytes of a command.
[[nodiscard]] std::string command(std::vector<std::string_view> const& words);

/// The same with its words one by one. No list in braces: beside a co_await g++ 12 refuses those.
template <class... Words>
  requires(std::convertible_to<Words const&, std::string_view> && ...)
[[nodiscard]] std::string command(Words const&... words) {
  std::vector<std::string_view> const all{std::string_view(words)...};
  return command(all);
}

}  // namespace holt::redis
