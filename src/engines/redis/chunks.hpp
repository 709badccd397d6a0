// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work on many names, divided into calls.

#include "engines/redis/layout.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace holt::redis {

/// Which of many go into one call, by their numbers.
using Chunk = std::vector<std::size_t>;

/// Divides 0 to `count` - 1 into chunks of at most `most`, each of one shard.
template <class ShardOf>
[[nodiscard]] std::vector<Chunk> chunks_of(std::size_t count, std::size_t most,
                                           ShardOf const& shard_of_number) {
  std::vector<Chunk> chunks;
  std::array<std::size_t, shards> filling{};  ///< the chunk of each shard, counted from 1
  for (std::size_t i = 0; i < count; ++i) {
    auto& chunk = filling.at(shard_of_number(i));
    if (chunk == 0 || chunks[chunk - 1].size() == most) {
      chunks.emplace_back();
      chunk = chunks.size();
    }
    chunks[chunk - 1].push_back(i);
  }
  return chunks;
}

}  // namespace holt::redis
