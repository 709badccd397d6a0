// SPDX-License-Identifier: Apache-2.0
// What the client judges of any store: the time-out, descriptors, latency against the ttl in use.

#include "client/findings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holt::client {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<Nanos> calls_of(Nanos each, int count = 100) {
  return std::vector<Nanos>(static_cast<std::size_t>(count), each);
}

TEST(Findings, TheWorstDecides) {
  EXPECT_EQ(worst({}), FindingStatus::ok);
  EXPECT_EQ(worst({{.status = FindingStatus::info}, {.status = FindingStatus::ok}}),
            FindingStatus::info);
  EXPECT_EQ(worst({{.status = FindingStatus::fail}, {.status = FindingStatus::warn}}),
            FindingStatus::fail);
}

TEST(Findings, StatusesHaveNames) {
  EXPECT_EQ(to_string(FindingStatus::ok), "ok");
  EXPECT_EQ(to_string(FindingStatus::info), "info");
  EXPECT_EQ(to_string(FindingStatus::warn), "warn");
  EXPECT_EQ(to_string(FindingStatus::fail), "fail");
}

TEST(Findings, LatencyIsJudgedByTheTtl) {
  EXPECT_EQ(latency_finding(calls_of(1ms), 30s, {}).status, FindingStatus::ok);
  EXPECT_EQ(latency_finding(calls_of(4s), 30s, {}).status, FindingStatus::warn);
  auto const slow = latency_finding(calls_of(11s), 30s, {});
  EXPECT_EQ(slow.status, FindingStatus::fail);
  EXPECT_THAT(slow.fix, HasSubstr("110 s or more"));
}

TEST(Findings, LatencyIsJudgedByTheShortestTtlThatIsHeld) {
  auto const finding = latency_finding(calls_of(20ms), 30s, 100ms);
  EXPECT_EQ(finding.status, FindingStatus::warn);
  EXPECT_THAT(finding.detail, HasSubstr("shortest of those held 100 ms"));
  EXPECT_EQ(latency_finding(calls_of(20ms), 30s, 60s).status, FindingStatus::ok);
}

TEST(Findings, LatencyTellsPercentiles) {
  std::vector<Nanos> calls;
  for (int i = 100; i >= 1; --i) calls.emplace_back(std::chrono::milliseconds(i));
  EXPECT_THAT(latency_finding(calls, 30s, {}).detail,
              HasSubstr("p50 50.00 ms, p90 90.00 ms, p99 99.00 ms, longest 100.00 ms of 100"));
  EXPECT_THAT(latency_finding({1ms}, 30s, {}).detail, HasSubstr("p50 1.00 ms"));
}

TEST(Findings, ATimeoutBeyondTheTtlIsAWarning) {
  EXPECT_EQ(timeout_finding(5s, 30s).status, FindingStatus::ok);
  auto const finding = timeout_finding(5s, 2s);
  EXPECT_EQ(finding.status, FindingStatus::warn);
  EXPECT_THAT(finding.fix, HasSubstr("5 s or more"));
}

TEST(Findings, FewDescriptorsAreAWarning) {
  EXPECT_EQ(descriptors_finding(1024, 20).status, FindingStatus::ok);
  EXPECT_EQ(descriptors_finding(64, 20).status, FindingStatus::warn);
  EXPECT_EQ(descriptors_finding(10, 20).status, FindingStatus::warn);
  EXPECT_THAT(descriptors_finding(64, 20).fix, HasSubstr("ulimit -n"));
}

TEST(Findings, AStoreThatFailsSaysWhyAndHowToMendIt) {
  EngineError const plain(ErrorCode::internal, Outcome::unknown, "x", "open", "it is broken");
  EngineError const hinted(ErrorCode::internal, Outcome::unknown, "x", "open", "why", "do this");
  EXPECT_EQ(store_refused(hinted).detail, "why");
  EXPECT_EQ(store_refused(hinted).fix, "do this");
  EXPECT_THAT(store_refused(plain).fix, Not(IsEmpty()));
  EXPECT_EQ(writable_finding({.calls = {}, .error = hinted}).fix, "do this");
  EXPECT_THAT(writable_finding({.calls = {}, .error = plain}).fix, Not(IsEmpty()));
  EXPECT_EQ(writable_finding({.calls = {1ms}, .error = {}}).status, FindingStatus::ok);
}

}  // namespace
}  // namespace holt::client
