// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/batch.hpp"

#include "redis_scripts.hpp"

#include <algorithm>

namespace holt::redis {

bool Batch::has(std::uint64_t name) const {
  return std::ranges::find(names_, name) != names_.end();
}

void Batch::add(Step const& step) {
  if (names_.empty()) alone_ = step.alone().by_sha();
  names_.push_back(step.name());
  step.add_to(*this);
}

void Batch::add_common(std::size_t number) {
  if (!common_.empty()) return;
  ++words_;
  append_word(common_, {Digits(number)});
}

void Batch::take(std::string& bytes, bool with_text) {
  if (names_.size() == 1) {
    bytes += alone_;
  } else {
    append_head(bytes, with_text ? "EVAL" : "EVALSHA", with_text ? script_->text : script_->sha,
                keys_, words_);
    for (auto const& column : columns_) bytes += column;
    bytes.append(common_).append(rows_);
  }
  clear();
}

/// The memory stays, for the next ones.
void Batch::clear() {
  names_.clear();
  for (auto& column : columns_) column.clear();
  common_.clear();
  rows_.clear();
  keys_ = 0;
  words_ = 0;
}

}  // namespace holt::redis
