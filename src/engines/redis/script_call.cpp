// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/script_call.hpp"

#include "base/check.hpp"
#include "redis_scripts.hpp"

#include <algorithm>

namespace holt::redis {
namespace {

constexpr std::size_t usual_head = 80;
constexpr std::size_t usual_word = 40;
// Most calls reserve just this, so that a call finds the memory that the last one has left.
constexpr std::size_t usual_size = 800;

}  // namespace

void append_head(std::string& bytes, std::string_view verb, std::string_view script,
                 std::size_t keys, std::size_t words) {
  append_count(bytes, 3 + keys + words);
  append_word(bytes, {verb});
  append_word(bytes, {script});
  append_word(bytes, {Digits(keys)});
}

bool is_unknown_script(ReplyView const& reply) {
  return reply.is_error() && reply.text().starts_with("NOSCRIPT");
}

ScriptCall::ScriptCall(Script const& script, std::size_t keys, std::size_t words)
    : script_(&script), keys_(keys), words_(words), missing_(keys + words) {
  bytes_.reserve(std::max(usual_size, usual_head + missing_ * usual_word));
  append_head(bytes_, "EVALSHA", script.sha, keys, words);
  body_ = bytes_.size();
}

std::string_view ScriptCall::name() const { return script_->name; }

/// One word too few, and the server would take the next call for the rest of this one.
std::string const& ScriptCall::by_sha() const {
  HOLT_CHECK(missing_ == 0);
  return bytes_;
}

std::string ScriptCall::with_text() const {
  std::string bytes;
  bytes.reserve(usual_head + script_->text.size() + bytes_.size());
  append_head(bytes, "EVAL", script_->text, keys_, words_);
  return bytes.append(by_sha(), body_);
}

std::string_view ScriptCall::first_key() const {
  if (keys_ == 0) return {};
  auto const body = std::string_view(by_sha()).substr(body_ + 1);
  std::size_t size = 0;
  auto const* const digits_end = std::from_chars(body.begin(), body.end(), size).ptr;
  return {digits_end + 2, size};
}

}  // namespace holt::redis
