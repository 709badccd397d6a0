// SPDX-License-Identifier: Apache-2.0
#include "support/servers/redis_client.hpp"

#include <hiredis/hiredis.h>

#include <stdexcept>

namespace holt::test {
namespace {

constexpr timeval usual_patience{10, 0};

using Context = std::unique_ptr<redisContext, void (*)(redisContext*)>;

Context checked(redisContext* context, std::string const& where) {
  Context owner(context, redisFree);
  if (context == nullptr || context->err != 0) {
    throw std::runtime_error("cannot connect to Redis at " + where + ": " +
                             (context == nullptr ? "no memory" : context->errstr));
  }
  redisSetTimeout(context, usual_patience);
  return owner;
}

RedisReply copy_of(redisReply const& reply) {
  using Kind = RedisReply::Kind;
  RedisReply copy;
  copy.integer = reply.integer;
  if (reply.str != nullptr) copy.text.assign(reply.str, static_cast<std::size_t>(reply.len));
  switch (reply.type) {
    case REDIS_REPLY_STRING:
      copy.kind = Kind::text;
      break;
    case REDIS_REPLY_STATUS:
      copy.kind = Kind::status;
      break;
    case REDIS_REPLY_ERROR:
      copy.kind = Kind::error;
      break;
    case REDIS_REPLY_INTEGER:
      copy.kind = Kind::integer;
      break;
    case REDIS_REPLY_ARRAY:
      copy.kind = Kind::array;
      break;
    default:
      copy.kind = Kind::nil;
      break;
  }
  for (std::size_t i = 0; i < reply.elements; ++i) copy.items.push_back(copy_of(*reply.element[i]));
  return copy;
}

std::runtime_error unexpected(RedisClient::Words const& words, RedisReply const& reply) {
  std::string text = "Redis, asked";
  for (auto const& word : words) text += " " + word;
  if (reply.is_error()) return std::runtime_error(text + ", answered the error " + reply.text);
  return std::runtime_error(text + ", answered with another kind of reply: " + reply.text);
}

}  // namespace

RedisClient::RedisClient(std::uint16_t port)
    : context_(checked(redisConnectWithTimeout("127.0.0.1", port, usual_patience),
                       "port " + std::to_string(port))) {}

RedisClient::RedisClient(std::string const& socket_path)
    : context_(
          checked(redisConnectUnixWithTimeout(socket_path.c_str(), usual_patience), socket_path)) {}

void RedisClient::set_patience(std::chrono::milliseconds patience) {
  auto const micros = std::chrono::microseconds(patience).count();
  redisSetTimeout(context_.get(), timeval{micros / 1'000'000, micros % 1'000'000});
}

RedisReply RedisClient::ask(Words const& words) {
  send(words);
  return receive();
}

void RedisClient::send(Words const& words) {
  std::vector<char const*> texts;
  std::vector<std::size_t> sizes;
  for (auto const& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  auto const count = static_cast<int>(words.size());
  redisAppendCommandArgv(context_.get(), count, texts.data(), sizes.data());
  int all_written = 0;
  while (all_written == 0) {
    if (redisBufferWrite(context_.get(), &all_written) != REDIS_OK) {
      throw std::runtime_error(std::string("cannot write to Redis: ") + context_->errstr);
    }
  }
}

RedisReply RedisClient::receive() {
  void* reply = nullptr;
  if (redisGetReply(context_.get(), &reply) != REDIS_OK || reply == nullptr) {
    throw std::runtime_error(std::string("no answer from Redis: ") + context_->errstr);
  }
  auto copy = copy_of(*static_cast<redisReply const*>(reply));
  freeReplyObject(reply);
  return copy;
}

std::string RedisClient::text(Words const& words) {
  auto reply = ask(words);
  if (reply.kind == RedisReply::Kind::text || reply.kind == RedisReply::Kind::status) {
    return std::move(reply.text);
  }
  throw unexpected(words, reply);
}

std::int64_t RedisClient::number(Words const& words) {
  auto const reply = ask(words);
  if (reply.kind != RedisReply::Kind::integer) throw unexpected(words, reply);
  return reply.integer;
}

RedisReply RedisClient::done(Words const& words) {
  auto reply = ask(words);
  if (reply.is_error()) throw unexpected(words, reply);
  return reply;
}

std::string info_field(std::string const& text, std::string const& field) {
  auto const at = ("\n" + text).find("\n" + field + ":");
  if (at == std::string::npos) return {};
  auto const from = at + field.size() + 1;
  return text.substr(from, text.find_first_of("\r\n", from) - from);
}

}  // namespace holt::test
