// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/listing.hpp"

#include "engines/redis/scripting.hpp"

#include <algorithm>
#include <utility>

namespace holt::redis {

/// A shard that gave all it was asked for may have more: beyond the last name of such a shard the
/// order is not known yet.
asio::awaitable<NameBatch> list_names(Connection& connection, std::vector<std::string> lists,
                                      std::string prefix, std::string first, std::uint32_t count,
                                      Instant deadline) {
  std::vector<std::string> args{std::move(first), std::to_string(count)};
  Reply const reply = co_await run_script(connection, scripts::list, std::move(lists),
                                          std::move(args), Effect::reads, deadline);
  NameBatch batch;
  std::string known_to;
  bool all = true;
  for (std::size_t i = 0; i < reply->size(); ++i) {
    auto const names = (*reply)[i];
    for (std::size_t n = 0; n < names.size(); ++n) batch.names.emplace_back(names[n].text());
    if (names.size() < count) continue;
    std::string last(names[names.size() - 1].text());
    if (all || last < known_to) known_to = std::move(last);
    all = false;
  }
  std::ranges::sort(batch.names);
  if (!all) std::erase_if(batch.names, [&](auto const& name) { return name > known_to; });
  batch.next = known_to + '\0';
  auto const beyond = std::ranges::find_if(
      batch.names, [&](auto const& name) { return !name.starts_with(prefix); });
  batch.last = all || beyond != batch.names.end();
  batch.names.erase(beyond, batch.names.end());
  co_return batch;
}

}  // namespace holt::redis
