// SPDX-License-Identifier: Apache-2.0
#include "redis_ceiling.hpp"

#include "pairs.hpp"

#include <fmt/core.h>

#include <stdexcept>
#include <vector>

namespace holt::bench {
namespace {

constexpr auto counter = "holt:ceiling:{all}:c";
constexpr auto rest_of_record = " 0 30000 0 1794799072486 0 0\n";
constexpr auto first_number = 1'794'799'072'486'000;

std::string owner(int i) { return fmt::format("inboxinboxinboxinbox12.owner-{:04}", i); }

struct Words {
  std::vector<std::string> keys;
  std::vector<std::string> to_acquire;
  std::vector<std::string> to_release;
};

/// As scripts/acquire.lua and scripts/release.lua want them.
Words words_for_one() {
  Words words;
  for (auto const* const kind : {"l", "q", "u", "t"}) {
    words.keys.push_back(fmt::format("holt:ceiling:{{00}}:{}:name-0000", kind));
  }
  words.keys.insert(words.keys.end(), {counter, "holt:ceiling:{00}:i"});
  words.to_acquire = {
      owner(0), rest_of_record, "35000", "", "holt:ceiling:inbox:", "1", "name-0000"};
  words.to_release = {owner(0), "name-0000", "holt:ceiling:inbox:", "1", ""};
  return words;
}

/// As scripts/acquire_many.lua and scripts/release_many.lua want them: names of all shards.
Words words_for_many(int names) {
  Words words;
  for (auto const* const kind : {"l", "q"}) {
    for (int i = 0; i < names; ++i) {
      words.keys.push_back(fmt::format("holt:ceiling:{{{:02x}}}:{}:name-{:04}", i % 64, kind, i));
    }
  }
  for (int i = 0; i < names; ++i) {
    words.keys.push_back(fmt::format("holt:ceiling:{{{:02x}}}:i", i % 64));
  }
  words.keys.emplace_back(counter);
  auto const from = std::to_string(words.keys.front().find("name-") + 1);
  words.to_acquire = {from};
  words.to_release = {from};
  for (int i = 0; i < names; ++i) {
    words.to_acquire.insert(words.to_acquire.end(), {owner(i), rest_of_record});
    words.to_release.push_back(owner(i));
  }
  return words;
}

/// One script after the other, each with its own words.
std::string both(Ceiling const& ceiling, Words const& words) {
  auto const keys_to_release = words.keys.size() - (ceiling.names > 1 ? 1 : 0);
  return fmt::format(
      "local function acquire(KEYS, ARGV)\n{}\nend\nlocal function release(KEYS, ARGV)\n{}\nend\n"
      "acquire(KEYS, {{unpack(ARGV, 1, {})}})\n"
      "return release({{unpack(KEYS, 1, {})}}, {{unpack(ARGV, {})}})\n",
      ceiling.acquire, ceiling.release, words.to_acquire.size(), keys_to_release,
      words.to_acquire.size() + 1);
}

}  // namespace

double pairs_by_redis_benchmark(test::RedisServer const& server, Ceiling const& ceiling) {
  auto const words = ceiling.names == 1 ? words_for_one() : words_for_many(ceiling.names);
  auto client = server.connect();
  auto const sha = client.text({"SCRIPT", "LOAD", both(ceiling, words)});
  client.done({"HSET", counter, "n", std::to_string(first_number)});
  auto const about = (ceiling.commands == 1 && ceiling.names == 1 ? 8'000 : 80'000) / ceiling.names;
  auto const calls = about / ceiling.commands * ceiling.commands;  // it sends so many at a time
  auto command = fmt::format("redis-benchmark -p {} -c 1 -P {} -n {} --csv EVALSHA {} {}",
                             server.port(), ceiling.commands, calls, sha, words.keys.size());
  for (auto const* const list : {&words.keys, &words.to_acquire, &words.to_release}) {
    for (auto const& word : *list) command += " '" + word + "'";
  }
  auto const table = output_of(command + " | tail -n 1 | rev | cut -d '\"' -f 14 | rev");
  auto const granted = std::stoll(client.text({"HGET", counter, "n"})) - first_number;
  if (granted != static_cast<long long>(calls) * ceiling.names) {
    throw std::runtime_error(fmt::format("redis-benchmark got {} grants for {} calls of {}",
                                         granted, calls, ceiling.names));
  }
  return std::stod(table) * ceiling.names;
}

double pushes_by_redis_benchmark(test::RedisServer const& server, int clients) {
  return std::stod(output_of(fmt::format(
      "redis-benchmark -p {} -c {} -n 200000 --csv RPUSH ceiling:pushes payload-of-12 | "
      "tail -n 1 | cut -d '\"' -f 4",
      server.port(), clients)));
}

}  // namespace holt::bench
