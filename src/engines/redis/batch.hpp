// SPDX-License-Identifier: Apache-2.0
#pragma once
// Calls of callers that do not know of each other as one call of a script that answers each: one
// command and one reply serve many, which costs the server much less. Bytes only, no I/O.

#include "engines/redis/script_call.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holt::redis {

class Batch;

/// What a caller wants, alone or with others.
class Step {
 public:
  virtual ~Step() = default;
  /// The script that answers several of this kind. Its Result is a list with an answer for each, in
  /// their order, which is what the script of alone() would say; nil: it was left as it was and
  /// must be asked for alone.
  [[nodiscard]] virtual Script const& of_many() const = 0;
  /// Tells names apart: two steps of one name are never in one batch.
  [[nodiscard]] virtual std::uint64_t name() const = 0;
  /// Adds its keys and words.
  virtual void add_to(Batch& batch) const = 0;
  /// The call that it is alone.
  [[nodiscard]] virtual ScriptCall alone() const = 0;

 protected:
  Step() = default;
  Step(Step const&) = default;
  Step& operator=(Step const&) = default;
};

class Batch {
 public:
  /// How many steps one call may have: it keeps the server from everything else for less than
  /// 0.3 ms.
  static constexpr std::size_t most = 64;
  static constexpr std::size_t max_columns = 4;

  explicit Batch(Script const& script) : script_(&script) {}

  [[nodiscard]] bool is_of(Script const& script) const { return script_ == &script; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  [[nodiscard]] bool has(std::uint64_t name) const;
  void add(Step const& step);

  /// For add_to(): keys come in columns, the first of all steps and then the second of all.
  template <class... Parts>
  void add_key(std::size_t column, Parts const&... parts) {
    ++keys_;
    append_word(columns_.at(column), {std::string_view(parts)...});
  }
  /// For add_to(): words come step by step.
  template <class... Parts>
  void add_word(Parts const&... parts) {
    ++words_;
    append_word(rows_, {std::string_view(parts)...});
  }
  /// For add_to(): a word that comes once, before all others.
  void add_common(std::size_t number);

  /// Appends its bytes and empties it. One step alone is the call that it is alone.
  void take(std::string& bytes, bool with_text);

 private:
  void clear();

  Script const* script_;
  std::string alone_;  ///< the first step
  std::vector<std::uint64_t> names_;
  std::array<std::string, max_columns> columns_;
  std::string common_;
  std::string rows_;
  std::size_t keys_ = 0;
  std::size_t words_ = 0;
};

}  // namespace holt::redis
