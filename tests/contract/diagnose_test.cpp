// SPDX-License-Identifier: Apache-2.0
// Engine::diagnose and Engine::raise_fence, clause by clause, and what the client makes of them.

#include "contract/engine_test.hpp"

#include <holt/holt.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace holt::test {
namespace {

using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t jump = std::uint64_t{1} << 32U;

class Diagnose : public EngineTest {
 protected:
  std::vector<Finding> engine_findings() { return run(client_.engine().diagnose(5s)); }
  FenceRaise raise() { return run(client_.engine().raise_fence(client_.deadline())); }
};

void expect_well_formed(std::vector<Finding> const& findings) {
  std::set<std::string> ids;
  for (auto const& finding : findings) {
    EXPECT_TRUE(ids.insert(finding.id).second) << finding.id << " is there twice";
    EXPECT_THAT(finding.title, Not(IsEmpty())) << finding.id;
    EXPECT_THAT(finding.detail, Not(IsEmpty())) << finding.id;
    if (finding.status >= FindingStatus::warn) {
      EXPECT_THAT(finding.fix, Not(IsEmpty())) << finding.id;
    }
  }
}

TEST_P(Diagnose, FindsNothingWrongWithAFreshStore) {
  auto const findings = engine_findings();
  expect_well_formed(findings);
  for (auto const& finding : findings) {
    EXPECT_NE(finding.status, FindingStatus::fail) << finding.id << ": " << finding.detail;
  }
}

TEST_P(Diagnose, AlwaysTellsTheDurability) {
  auto const findings = engine_findings();
  EXPECT_EQ(std::ranges::count(findings, "durability", &Finding::id), 1);
}

TEST_P(Diagnose, ChangesNothing) {
  client_.take("a", client_.owner());
  auto const before = client_.list();
  static_cast<void>(engine_findings());
  auto const after = client_.list();
  ASSERT_EQ(after.leases.size(), before.leases.size());
  EXPECT_EQ(after.leases[0].fence, before.leases[0].fence);
}

TEST_P(Diagnose, OfAClientLeavesNoLeaseBehind) {
  auto holt = holt::open(store_->url());
  auto const findings = holt.diagnose({.ttl = 30s, .samples = 3});
  expect_well_formed(findings);
  for (auto const* id : {"version", "store", "instance", "writable", "latency", "timeout"}) {
    EXPECT_EQ(std::ranges::count(findings, id, &Finding::id), 1) << id;
  }
  EXPECT_THAT(holt.list().leases, IsEmpty());
}

TEST_P(Diagnose, OfAClientSeesTheShortestTtlInUse) {
  auto holt = holt::open(store_->url());
  auto const lock = holt.try_lock("a", {.ttl = 7s});
  auto const findings = holt.diagnose({.ttl = 30s, .samples = 1});
  auto const latency = std::ranges::find(findings, "latency", &Finding::id);
  ASSERT_NE(latency, findings.end());
  EXPECT_THAT(latency->detail, testing::HasSubstr("shortest of those held 7 s"));
}

TEST_P(Diagnose, RefusesOptionsThatCannotBe) {
  auto holt = holt::open(store_->url());
  EXPECT_THROW(holt.diagnose({.ttl = 1ms}), InvalidArgument);
  EXPECT_THROW(holt.diagnose({.ttl = std::chrono::milliseconds::max()}), InvalidArgument);
  EXPECT_THROW(holt.diagnose({.samples = 0}), InvalidArgument);
  EXPECT_THROW(holt.diagnose({.samples = 10'001}), InvalidArgument);
  EXPECT_THROW(holt::diagnose(store_->url(), {}, {.samples = 0}), InvalidArgument);
}

TEST_P(Diagnose, OfAClientThatWasClosedThrows) {
  auto holt = holt::open(store_->url());
  holt.close();
  EXPECT_THROW(holt.diagnose(), EngineError);
  EXPECT_THROW(holt.raise_fence(), EngineError);
}

TEST_P(Diagnose, OfAStoreThatDoesNotOpenIsAFinding) {
  for (auto const* url : {"nosuchengine://here", "sqlite:///proc/self/nothing/holt.db"}) {
    auto const findings = holt::diagnose(url);
    expect_well_formed(findings);
    auto const store = std::ranges::find(findings, "store", &Finding::id);
    ASSERT_NE(store, findings.end());
    EXPECT_EQ(store->status, FindingStatus::fail) << url;
    EXPECT_EQ(std::ranges::count(findings, "descriptors", &Finding::id), 1);
  }
}

TEST_P(Diagnose, RaisingPutsEveryLaterFenceAboveAllBefore) {
  auto const before = client_.take("a", client_.owner());
  auto const raised = raise();
  EXPECT_GE(raised.before, before);
  EXPECT_EQ(raised.after.value(), raised.before.value() + jump);
  EXPECT_GT(client_.take("b", client_.owner()), raised.after);
  auto const again = raise();
  EXPECT_GT(again.before, raised.after);
}

TEST_P(Diagnose, RaisingLeavesHoldersAlone) {
  auto const owner = client_.owner();
  auto const fence = client_.take("a", owner);
  static_cast<void>(raise());
  EXPECT_EQ(client_.find("a")->fence, fence);
  EXPECT_TRUE(client_.renew("a", owner));
}

TEST_P(Diagnose, RaisingACounterThatDoesNotExistStartsItHigh) {
  auto const wall = store_->env().wall().time_since_epoch();
  auto const raised = raise();
  EXPECT_EQ(raised.before, Fence());
  auto const now = std::chrono::duration_cast<std::chrono::microseconds>(wall).count();
  EXPECT_GE(raised.after.value(), static_cast<std::uint64_t>(now) + jump);
  EXPECT_GT(client_.take("a", client_.owner()), raised.after);
}

TEST_P(Diagnose, RaisingIsForOneInstance) {
  Client other(*store_, "other");
  auto const before = other.take("a", other.owner());
  static_cast<void>(raise());
  EXPECT_LT(other.take("b", other.owner()).value(), before.value() + jump);
}

HOLT_ON_EVERY_ENGINE(Diagnose);

}  // namespace
}  // namespace holt::test
