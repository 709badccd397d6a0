// SPDX-License-Identifier: Apache-2.0
// Several steps as one call, in bytes.

#include "engines/redis/batch.hpp"
#include "engines/redis/lease_steps.hpp"
#include "redis_scripts.hpp"

#include <gtest/gtest.h>

namespace holt::redis {
namespace {

using namespace std::chrono_literals;

Keys const& keys() {
  static Keys const all("test");
  return all;
}
Owner owner(char letter) { return {"inbox", std::string(22, letter)}; }

std::string taken(Batch& batch, bool with_text = false) {
  std::string bytes;
  batch.take(bytes, with_text);
  return bytes;
}

TEST(RedisBatchTest, OneStepIsTheCallThatItIsAlone) {
  Batch batch(scripts::release_many);
  Name const name("x");
  Owner const by = owner('a');
  ReleaseStep const step(keys(), name, by, {"identity", "1"});
  batch.add(step);
  EXPECT_EQ(batch.size(), 1U);
  EXPECT_EQ(taken(batch), step.alone().by_sha());
  EXPECT_EQ(batch.size(), 0U);
}

TEST(RedisBatchTest, ReleasesHaveTheirKeysInColumns) {
  Batch batch(scripts::release_many);
  Name const x("x");
  Name const y("y");
  Owner const a = owner('a');
  Owner const b = owner('b');
  batch.add(ReleaseStep(keys(), x, a, {"identity", "1"}));
  batch.add(ReleaseStep(keys(), y, b, {"identity", "1"}));
  auto const of_x = keys().start_of("x");
  auto const of_y = keys().start_of("y");
  auto const from = std::to_string(of_x.size() + 3);
  EXPECT_EQ(keys().lease("x").substr(of_x.size() + 2), "x") << "where the script finds the name";
  auto const whole = [&](std::string_view verb, std::string_view script) {
    return command(verb, script, "6", of_x + "l:x", of_y + "l:y", of_x + "q:x", of_y + "q:y",
                   of_x + "i", of_y + "i", from, a.text(), b.text());
  };
  EXPECT_EQ(taken(batch), whole("EVALSHA", scripts::release_many.sha));
  batch.add(ReleaseStep(keys(), x, a, {"identity", "1"}));
  batch.add(ReleaseStep(keys(), y, b, {"identity", "1"}));
  EXPECT_EQ(taken(batch, true), whole("EVAL", scripts::release_many.text)) << "nothing is left";
}

TEST(RedisBatchTest, AcquiresBringTheirRecords) {
  Batch batch(scripts::acquire_many);
  LeaseRequest first({Name("x")}, owner('a'), 30s);
  first.note = "a note";
  first.request = "request";
  LeaseRequest second({Name("y")}, owner('b'), 10s);
  second.delay = 2s;
  batch.add(AcquireStep(keys(), first, 1700, {"", "1"}));
  batch.add(AcquireStep(keys(), second, 1800, {"", "1"}));
  auto const of_x = keys().start_of("x");
  auto const of_y = keys().start_of("y");
  EXPECT_EQ(taken(batch), command("EVALSHA", scripts::acquire_many.sha, "7", of_x + "l:x",
                                  of_y + "l:y", of_x + "q:x", of_y + "q:y", of_x + "i", of_y + "i",
                                  keys().counter(0), std::to_string(of_x.size() + 3),
                                  first.owner.text(), " 0 30000 0 1700 7 0\nrequesta note",
                                  second.owner.text(), " 0 10000 2000 1800 0 0\n"));
}

TEST(RedisBatchTest, KnowsTheNamesItHas) {
  Batch batch(scripts::release_many);
  Name const x("x");
  Name const y("y");
  Owner const a = owner('a');
  ReleaseStep const of_x(keys(), x, a, {});
  ReleaseStep const of_y(keys(), y, a, {});
  batch.add(of_x);
  EXPECT_TRUE(batch.has(of_x.name()));
  EXPECT_FALSE(batch.has(of_y.name()));
  LeaseRequest const request({x}, a, 1s);
  EXPECT_TRUE(batch.has(AcquireStep(keys(), request, 0, {}).name())) << "of whatever kind";
  (void)taken(batch);
  EXPECT_FALSE(batch.has(of_x.name()));
}

}  // namespace
}  // namespace holt::redis
