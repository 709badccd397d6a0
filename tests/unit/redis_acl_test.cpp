// SPDX-License-Identifier: Apache-2.0
// The ACL line that Holt ships allows every command that a script of the native layout may run,
// also those that no test happens to reach.

#include "redis_scripts.hpp"
#include "support/redis_stores.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>

namespace holt::redis {
namespace {

TEST(RedisAclTest, TheLineHasEveryCommandOfTheScripts) {
  auto const line = test::RedisAclTestStore::example_line() + " ";
  std::regex const call(R"(call(?:\(|, )'(\w+)')");
  for (auto const& script :
       {scripts::acquire, scripts::acquire_many, scripts::release, scripts::release_many,
        scripts::renew, scripts::break_lease, scripts::find, scripts::list, scripts::sweep,
        scripts::raise_fence, scripts::lift_fence, scripts::introduce, scripts::record_put,
        scripts::record_erase, scripts::instance_get, scripts::instance_put,
        scripts::instance_erase, scripts::instance_lock, scripts::instance_unlock}) {
    std::string const text(script.text);
    int calls = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at, ++calls) {
      auto command = (*at)[1].str();
      std::ranges::transform(command, command.begin(),
                             [](char letter) { return static_cast<char>(letter | 0x20); });
      EXPECT_THAT(line, testing::HasSubstr(" +" + command + " ")) << script.name;
    }
    EXPECT_GT(calls, 0) << script.name;
  }
}

}  // namespace
}  // namespace holt::redis
