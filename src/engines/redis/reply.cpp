// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/reply.hpp"

#include "engines/redis/errors.hpp"

#include <hiredis/hiredis.h>

#include <new>
#include <span>
#include <stdexcept>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::size_t max_elements = 1'000'000;  // in one array

/// hiredis would reserve memory for whatever number the other side writes, before the first element
/// has come. Its versions count in different types.
redisReplyObjectFunctions* with_limit(redisReplyObjectFunctions* usual) {
  static auto const* const defaults = usual;
  static auto limited = [usual] {
    auto functions = *usual;
    functions.createArray = [](redisReadTask const* task, auto elements) -> void* {
      if (static_cast<std::size_t>(elements) > max_elements) return nullptr;
      return defaults->createArray(task, elements);
    };
    return functions;
  }();
  return &limited;
}

[[noreturn]] void unexpected(char const* wanted) {
  throw failed(ErrorCode::internal, Outcome::unknown, "read",
               std::string("the server's answer is not ") + wanted);
}

}  // namespace

bool ReplyView::is_error() const { return reply_->type == REDIS_REPLY_ERROR; }
bool ReplyView::is_nil() const { return reply_->type == REDIS_REPLY_NIL; }
bool ReplyView::is_text() const {
  return reply_->type == REDIS_REPLY_STRING || reply_->type == REDIS_REPLY_STATUS;
}
bool ReplyView::is_array() const { return reply_->type == REDIS_REPLY_ARRAY; }

std::int64_t ReplyView::integer() const {
  if (reply_->type != REDIS_REPLY_INTEGER) unexpected("a number");
  return reply_->integer;
}

std::string_view ReplyView::text() const {
  if (!is_text() && !is_error()) unexpected("a text");
  return {reply_->str, static_cast<std::size_t>(reply_->len)};
}

std::size_t ReplyView::size() const { return is_array() ? reply_->elements : 0; }

ReplyView ReplyView::operator[](std::size_t index) const {
  if (index >= size()) unexpected("a list that long");
  return ReplyView(std::span(reply_->element, reply_->elements)[index]);
}

Reply::Reply(redisReply* owned) : reply_(owned), view_(owned) {}

Reply Reply::refusal(std::string_view text) {
  ReplyReader reader;
  reader.feed("-");
  reader.feed(text);
  reader.feed("\r\n");
  return std::move(reader.next()).value();
}

Reply Reply::take(std::size_t index) {
  if (index >= view_.size()) unexpected("a list that long");
  auto& part = std::span(reply_->element, reply_->elements)[index];
  if (part == nullptr || part->type == REDIS_REPLY_NIL) return {};
  return Reply(std::exchange(part, nullptr));
}

void Reply::Free::operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }

ReplyReader::ReplyReader() : reader_(redisReaderCreate()) {
  if (!reader_) throw std::bad_alloc();
  reader_->fn = with_limit(reader_->fn);
}

void ReplyReader::Free::operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }

void ReplyReader::feed(std::string_view bytes) {
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    throw std::runtime_error(reader_->errstr);
  }
}

std::optional<Reply> ReplyReader::next() {
  void* reply = nullptr;
  if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
    if (reader_->err == REDIS_ERR_OOM) throw std::runtime_error("the server's answer is too long");
    throw std::runtime_error(std::string("this is no Redis server: ") + reader_->errstr);
  }
  if (reply == nullptr) return std::nullopt;
  return Reply(static_cast<redisReply*>(reply));
}

void append_count(std::string& bytes, std::size_t words) {
  bytes.append("*").append(Digits(words)).append("\r\n");
}

void append_word(std::string& bytes, std::initializer_list<std::string_view> parts) {
  constexpr std::size_t frame = 25;  // "$", a number, and twice "\r\n"
  std::size_t size = 0;
  for (auto const part : parts) size += part.size();
  auto const before = bytes.size();
  bytes.resize_and_overwrite(before + size + frame, [&](char* start, std::size_t room) {
    char* at = start + before;
    auto const put = [&at](std::string_view text) { at += text.copy(at, text.size()); };
    put("$");
    at = std::to_chars(at, start + room, size).ptr;
    put("\r\n");
    for (auto const part : parts) put(part);
    put("\r\n");
    return static_cast<std::size_t>(at - start);
  });
}

std::string command(std::vector<std::string_view> const& words) {
  std::string bytes;
  append_count(bytes, words.size());
  for (auto const word : words) append_word(bytes, {word});
  return bytes;
}

}  // namespace holt::redis
