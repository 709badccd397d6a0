// SPDX-License-Identifier: Apache-2.0
// Named instances on every engine, through the public API: names, numbers, workspaces, replicas,
// and what is left when one is gone.

#include "contract/engine_test.hpp"
#include "contracts/instance_names.hpp"
#include "support/temporary_folder.hpp"

#include <holt/holt.hpp>

#include <gmock/gmock.h>

#include <filesystem>
#include <future>
#include <string>
#include <vector>

namespace holt::test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using Why = InstanceRefused::Why;

class InstanceRegisters : public EngineTest {
 protected:
  [[nodiscard]] std::string folder(std::string const& name) {
    auto const path = folders_.file(name);
    std::filesystem::create_directories(path);
    return path;
  }
  std::expected<Instance, InstanceRefused> up(std::string const& name, std::string const& in,
                                              InstanceOptions options = {}) {
    auto const workspace = folder(in);
    options.name = name;
    options.workspace = workspace;
    return instances_.up(options);
  }
  [[nodiscard]] std::vector<std::string> listed() {
    std::vector<std::string> names;
    for (auto const& info : instances_.list()) names.push_back(info.name);
    return names;
  }
  /// Everything the register holds of anybody.
  [[nodiscard]] std::vector<std::string> left() {
    Client registers(*store_, std::string(register_scope));
    std::vector<std::string> all;
    for (auto const& lease : registers.list().leases) all.push_back(lease.name.text());
    auto const page =
        run(registers.engine().records().list("instance/", {}, 100, registers.deadline()));
    for (auto const& record : page.records) all.push_back(record.key);
    return all;
  }
  /// As a crash leaves it behind when its leases have ended.
  void put_record_of_the_dead(std::string const& name, std::string const& workspace) {
    Client registers(*store_, std::string(register_scope));
    auto const text = R"({"run_id":"r","workspace_path":")" + workspace +
                      R"(","started_at":"2025-10-05T12:34:56Z","orchestrator_pid":1,"hostname":")" +
                      instance_host() + R"(","address":"a"})";
    ASSERT_TRUE(run(registers.engine().records().put(RecordWrite("instance/" + name, text),
                                                     registers.deadline())));
  }

  TemporaryFolder folders_;
  Instances instances_ = open_instances(store_->url());
  Instances others_ = open_instances(store_->url());
};
HOLT_ON_EVERY_ENGINE(InstanceRegisters);

TEST_P(InstanceRegisters, OneComesUpIsListedAndLeavesNothing) {
  auto one = up("mine", "a", {.address = "mine.local:80"});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->name(), "mine");
  EXPECT_TRUE(one->leads());
  EXPECT_EQ(one->run_id().size(), 36U);
  auto const found = others_.find("mine");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, InstanceStatus::running);
  EXPECT_EQ(found->workspace, std::filesystem::canonical(folder("a")));
  EXPECT_EQ(found->run_id, one->run_id());
  EXPECT_EQ(found->hostname, instance_host());
  EXPECT_EQ(found->address, "mine.local:80");
  EXPECT_EQ(found->fence, one->fence());
  EXPECT_GT(found->pid, 0);
  EXPECT_GT(found->started_at, std::chrono::system_clock::now() - 1h);
  ASSERT_EQ(found->replicas.size(), 1U);
  EXPECT_TRUE(found->replicas.front().leads);
  EXPECT_TRUE(one->stop());
  EXPECT_EQ(one->end(), InstanceEnd::stopped);
  EXPECT_FALSE(others_.find("mine"));
  EXPECT_THAT(left(), IsEmpty());
}

TEST_P(InstanceRegisters, ANameIsTakenOnce) {
  auto const one = up("mine", "a");
  ASSERT_TRUE(one);
  auto const second = up("mine", "b");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().why, Why::name_taken);
  EXPECT_THAT(second.error().by, HasSubstr(instance_host()));
  EXPECT_EQ(listed(), std::vector<std::string>{"mine"});
  auto const elsewhere = up("other", "b");  // the refused one has left the workspace free
  EXPECT_TRUE(elsewhere);
}

TEST_P(InstanceRegisters, NumbersAreNeverGivenTwice) {
  auto first = up("", "a");
  auto second = up("", "b");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->name(), "default-1");
  EXPECT_EQ(second->name(), "default-2");
  EXPECT_TRUE(first->stop());
  EXPECT_TRUE(second->stop());
  auto const third = up("", "a");
  ASSERT_TRUE(third);
  EXPECT_EQ(third->name(), "default-3");
}

TEST_P(InstanceRegisters, NumbersTakenByHandAreSkipped) {
  auto const by_hand = up("default-1", "a");
  auto const next = up("default-2", "b");
  auto const drawn = up("", "c");
  ASSERT_TRUE(drawn);
  EXPECT_EQ(drawn->name(), "default-3");
}

TEST_P(InstanceRegisters, AHundredNumbersTakenByHandAreEnough) {
  Client registers(*store_, std::string(register_scope));
  for (int i = 1; i <= 100; ++i) {
    registers.take(std::string(name_lease_start) + "default-" + std::to_string(i),
                   registers.owner());
  }
  auto const refused = up("", "a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().why, Why::no_number);
  EXPECT_EQ(refused.error().limit, 100U);
  auto const next = up("", "a");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->name(), "default-101");
}

TEST_P(InstanceRegisters, AWorkspaceIsTakenOnceAndARefusalBurnsNoNumber) {
  auto const one = up("", "a");
  ASSERT_TRUE(one);
  for (int i = 0; i < 3; ++i) {
    auto const refused = up("", "a");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().why, Why::workspace_taken);
    EXPECT_EQ(refused.error().by, "default-1");
    EXPECT_EQ(refused.error().workspace, std::filesystem::canonical(folder("a")));
  }
  auto const named = up("named", "a");
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().why, Why::workspace_taken);
  EXPECT_TRUE(instances_.find("named") == std::nullopt);
  auto const next = up("", "b");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->name(), "default-2");
}

TEST_P(InstanceRegisters, ASymbolicLinkIsTheFolderBehindIt) {
  auto const one = up("one", "a");
  std::filesystem::create_directory_symlink(folder("a"), folders_.file("link"));
  auto const second = up("two", "link");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().why, Why::workspace_taken);
}

TEST_P(InstanceRegisters, ForceGoesOverTheWorkspaceAloneAndInheritsIt) {
  auto first = up("first", "a");
  ASSERT_TRUE(first);
  auto const same_name = up("first", "b", {.force = true});
  ASSERT_FALSE(same_name);
  EXPECT_EQ(same_name.error().why, Why::name_taken);
  auto const forced = up("forced", "a", {.force = true});
  ASSERT_TRUE(forced);
  EXPECT_EQ(forced->overridden(), "first");
  EXPECT_TRUE(first->stop());
  EXPECT_TRUE(comes_true([&] {
    auto const third = up("third", "a");
    return !third && third.error().by == "forced";
  }));
}

TEST_P(InstanceRegisters, ForceWithoutNeedOverridesNobody) {
  auto const forced = up("forced", "a", {.force = true});
  ASSERT_TRUE(forced);
  EXPECT_EQ(forced->overridden(), "");
}

TEST_P(InstanceRegisters, DownEndsItFromAnywhere) {
  auto const one = up("mine", "a");
  ASSERT_TRUE(one);
  EXPECT_EQ(others_.down("mine", "no longer needed"), DownResult::stopped);
  EXPECT_TRUE(comes_true([&] { return one->ended().stop_requested(); }));
  EXPECT_EQ(one->end(), InstanceEnd::asked);
  EXPECT_EQ(one->end_reason(), "no longer needed");
  EXPECT_FALSE(one->leads());
  EXPECT_TRUE(comes_true([&] { return left().empty(); }));
  EXPECT_EQ(others_.down("mine", "again"), DownResult::not_found);
  EXPECT_TRUE(up("mine", "a"));
}

TEST_P(InstanceRegisters, DownByForceFreesItAtOnceAndItStaysDown) {
  auto const one = up("mine", "a");
  ASSERT_TRUE(one);
  EXPECT_EQ(others_.down("mine", "now", {.force = true}), DownResult::stopped);
  auto const next = up("mine", "a");
  ASSERT_TRUE(next);
  EXPECT_TRUE(comes_true([&] { return one->ended().stop_requested(); }));
  EXPECT_EQ(one->end(), InstanceEnd::asked);
  EXPECT_TRUE(next->leads());
  EXPECT_EQ(instances_.find("mine")->run_id, next->run_id());
}

TEST_P(InstanceRegisters, ADeadOneIsListedAsStoppedAndBlocksNobody) {
  put_record_of_the_dead("dead", std::filesystem::canonical(folder("a")));
  put_record_of_the_dead("other", "/elsewhere");
  auto const found = instances_.find("dead");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, InstanceStatus::stopped);
  EXPECT_EQ(found->fence, Fence());
  EXPECT_THAT(found->replicas, IsEmpty());
  auto const next = up("next", "a");
  ASSERT_TRUE(next);
  EXPECT_EQ(listed(), (std::vector<std::string>{"next", "other"}));
  EXPECT_EQ(instances_.down("other", "gone"), DownResult::cleaned);
  EXPECT_EQ(listed(), std::vector<std::string>{"next"});
}

TEST_P(InstanceRegisters, ANameOfTheDeadIsFree) {
  put_record_of_the_dead("mine", "/elsewhere");
  auto const one = up("mine", "a");
  ASSERT_TRUE(one);
  EXPECT_EQ(instances_.find("mine")->run_id, one->run_id());
}

TEST_P(InstanceRegisters, AReplicaFollowsAndLeadsWithoutAGap) {
  auto first = up("mine", "a", {.join = true});  // nobody there: it starts it
  ASSERT_TRUE(first);
  auto const second = others_.up({.name = "mine", .workspace = folders_.path(), .join = true});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->run_id(), first->run_id());
  EXPECT_FALSE(second->leads());
  EXPECT_TRUE(comes_true([&] { return instances_.find("mine")->replicas.size() == 2; }));
  auto const fence = first->fence();
  std::atomic<bool> stop = false;
  auto stranger = std::async(std::launch::async, [&] {
    while (!stop) {
      if (auto const slipped_in = up("mine", "b")) return true;
    }
    return false;
  });
  EXPECT_TRUE(first->stop());
  EXPECT_TRUE(comes_true([&] { return second->leads(); }));
  stop = true;
  EXPECT_FALSE(stranger.get());
  EXPECT_GT(second->fence(), fence);
  auto const found = instances_.find("mine");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->run_id, second->run_id());
  EXPECT_TRUE(comes_true([&] { return left().size() == 4; }));  // name, workspace, replica, record
}

TEST_P(InstanceRegisters, DownEndsAllReplicas) {
  auto const first = up("mine", "a");
  auto const second = up("mine", "b", {.join = true});
  auto const third = up("mine", "c", {.join = true});
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(others_.down("mine", "enough"), DownResult::stopped);
  for (auto const* const replica : {&*first, &*second, &*third}) {
    EXPECT_TRUE(comes_true([&] { return replica->ended().stop_requested(); }));
    EXPECT_EQ(replica->end(), InstanceEnd::asked);
  }
  EXPECT_TRUE(comes_true([&] { return left().empty(); }));
}

TEST_P(InstanceRegisters, ThereIsALimitAndItBurnsNoNumber) {
  auto const first = up("", "a", {.max_instances = 2});
  auto const second = up("", "b", {.max_instances = 2});
  ASSERT_TRUE(first && second);
  for (auto const* const name : {"", "named"}) {
    auto const refused = up(name, "c", {.max_instances = 2});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().why, Why::too_many);
    EXPECT_EQ(refused.error().limit, 2U);
  }
  auto const third = up("", "c");
  ASSERT_TRUE(third);
  EXPECT_EQ(third->name(), "default-3");
}

TEST_P(InstanceRegisters, OneOfManyGetsTheName) {
  std::vector<std::future<bool>> tries;
  std::vector<std::optional<Instance>> winners(20);
  for (std::size_t i = 0; i < winners.size(); ++i) {
    tries.push_back(std::async(std::launch::async, [&, i] {
      auto one = up("mine", "w" + std::to_string(i));
      if (one) winners[i] = std::move(*one);
      return one.has_value();
    }));
  }
  std::ptrdiff_t won = 0;
  for (auto& each : tries) won += each.get() ? 1 : 0;
  EXPECT_EQ(won, 1);
  EXPECT_EQ(listed(), std::vector<std::string>{"mine"});
}

TEST_P(InstanceRegisters, OneOfManyGetsTheWorkspaceAndTheOthersBurnNoNumber) {
  std::vector<std::future<std::string>> tries;
  std::vector<std::optional<Instance>> winners(20);
  for (std::size_t i = 0; i < winners.size(); ++i) {
    tries.push_back(std::async(std::launch::async, [&, i] {
      auto one = up("", "a");
      auto answer = one ? one->name() : "refused for " + one.error().by;
      if (one) winners[i] = std::move(*one);
      return answer;
    }));
  }
  std::vector<std::string> refused;
  for (auto& each : tries) {
    if (auto answer = each.get(); answer != "default-1") refused.push_back(answer);
  }
  EXPECT_EQ(refused.size(), 19U);
  EXPECT_THAT(refused, Each("refused for default-1"));
  auto const next = up("", "b");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->name(), "default-2");
}

TEST_P(InstanceRegisters, WhatCannotBeIsRefusedBeforeAnyQuestion) {
  EXPECT_THROW(up("Mine", "a"), InvalidArgument);
  EXPECT_THROW(up("mine-", "a"), InvalidArgument);
  EXPECT_THROW(up(std::string(64, 'a'), "a"), InvalidArgument);
  EXPECT_THROW(up("mine", "a", {.ttl = 99ms}), InvalidArgument);
  EXPECT_THROW(up("mine", "a", {.ttl = 10s, .heartbeat = 6s}), InvalidArgument);
  EXPECT_THROW(up("", "a", {.join = true}), InvalidArgument);
  EXPECT_THROW(up("mine", "a", {.max_instances = 0}), InvalidArgument);
  auto const missing = folders_.file("missing");
  EXPECT_THROW(instances_.up({.name = "mine", .workspace = missing}), InvalidArgument);
  EXPECT_THROW(instances_.down("mine", ""), InvalidArgument);
  EXPECT_THROW(instances_.down("Mine", "why"), InvalidArgument);
  EXPECT_THAT(left(), IsEmpty());
}

}  // namespace
}  // namespace holt::test
