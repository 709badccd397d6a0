// SPDX-License-Identifier: Apache-2.0
// What is refused before any I/O, with InvalidArgument.

#include "contract/task_fixture.hpp"

#include <functional>

namespace holt::test {
namespace {

using namespace std::string_literals;

class TaskLimits : public TaskTest {
 protected:
  void refuses(std::function<void(NewTask&)> const& spoil) {
    NewTask task("job", "");
    spoil(task);
    EXPECT_THROW(add(std::move(task)), InvalidArgument);
  }
  void refuses_claim(std::function<void(ClaimRequest&)> const& spoil) {
    auto request = asking(1);
    spoil(request);
    EXPECT_THROW(exchange(std::move(request)), InvalidArgument);
  }
};
HOLT_ON_EVERY_ENGINE(TaskLimits);

TEST_P(TaskLimits, OfTasks) {
  refuses([](auto& task) { task.payload.assign(task_limits::payload_bytes + 1, 'p'); });
  refuses([](auto& task) { task.metadata.assign(task_limits::metadata_bytes + 1, 'm'); });
  refuses([](auto& task) { task.priority = 0; });
  refuses([](auto& task) { task.priority = 11; });
  refuses([](auto& task) { task.priority = -1; });
  refuses([](auto& task) { task.max_attempts = 0; });
  refuses([](auto& task) { task.max_attempts = task_limits::attempts + 1; });
  refuses([](auto& task) { task.delay = -1ns; });
  refuses([](auto& task) { task.delay = Nanos::max(); });
  refuses([](auto& task) { task.timeout = -1s; });
  refuses([](auto& task) { task.keep = -1s; });
  refuses([](auto& task) { task.kind = ""; });
  refuses([](auto& task) { task.kind = "a\0b"s; });
  refuses([](auto& task) { task.kind = "a\nb"; });
  refuses([](auto& task) { task.kind.assign(task_limits::kind_bytes + 1, 'k'); });
  refuses([](auto& task) { task.kind = "\xff"; });
  refuses([](auto& task) { task.unique.assign(task_limits::unique_bytes + 1, 'u'); });
  refuses([](auto& task) { task.unique_period = 1s; });
  refuses([](auto& task) {
    task.unique = "key";
    task.unique_while = Unique::period;
  });
  EXPECT_EQ(count().pending, 0U);
}

TEST_P(TaskLimits, OfOneAdd) {
  EXPECT_THROW(add_all({}), InvalidArgument);
  EXPECT_THROW(add_all({NewTask("job", "")}, std::string(65, 'r')), InvalidArgument);
  EXPECT_THROW(add_all(std::vector<NewTask>(TaskStore::max_add + 1, NewTask("job", ""))),
               InvalidArgument);
  EXPECT_THROW(add_all(std::vector<NewTask>(17, NewTask("job", std::string(1U << 20U, 'p')))),
               InvalidArgument);
  NewTask wrong("job", "");
  wrong.priority = 0;
  EXPECT_THROW(add_all({NewTask("job", ""), wrong}), InvalidArgument);
  EXPECT_EQ(count().pending, 0U);
}

TEST_P(TaskLimits, OfQueues) {
  for (auto const& name : {""s, "a b"s, "a/b"s, "-a"s, "a\0"s, "ä"s, std::string(129, 'q')}) {
    EXPECT_THROW(run(tasks().add(AddRequest(name, {NewTask("job", "")}), deadline())),
                 InvalidArgument)
        << name;
    EXPECT_THROW(run(tasks().count(name, deadline())), InvalidArgument) << name;
    EXPECT_THROW(run(tasks().find(TaskId(name, 1), deadline())), InvalidArgument) << name;
    EXPECT_THROW(run(tasks().cancel(TaskId(name, 1), deadline())), InvalidArgument) << name;
  }
  auto const longest = std::string(128, 'q');
  EXPECT_EQ(run(tasks().add(AddRequest(longest, {NewTask("job", "")}), deadline())).size(), 1U);
  EXPECT_EQ(run(tasks().count(longest, deadline())).pending, 1U);
}

TEST_P(TaskLimits, OfClaims) {
  add();
  refuses_claim([](auto& request) { request.owner = Owner(); });
  refuses_claim([](auto& request) { request.ttl = 999ms; });
  refuses_claim([](auto& request) { request.ttl = 25h; });
  refuses_claim([](auto& request) { request.want = TaskStore::max_claim + 1; });
  refuses_claim([](auto& request) { request.kinds.assign(TaskStore::max_kinds + 1, "k"); });
  refuses_claim([](auto& request) { request.kinds = {""}; });
  refuses_claim([](auto& request) { request.idle_for = -1s; });
  refuses_claim([](auto& request) { request.worker.assign(129, 'w'); });
  EXPECT_EQ(count().pending, 1U);
}

TEST_P(TaskLimits, OfHandingIn) {
  add();
  auto const held = claim_one();
  auto const spoilt = [&](auto const& spoil) {
    auto finish = held.finish(TaskOutcome::completed);
    spoil(finish);
    EXPECT_THROW(hand_in(finish), InvalidArgument);
  };
  spoilt([](auto& finish) { finish.text.assign(task_limits::result_bytes + 1, 'r'); });
  spoilt([](auto& finish) { finish.task = TaskId("another", 1); });
  spoilt([](auto& finish) { finish.task = TaskId(queue, 0); });
  spoilt([](auto& finish) { finish.owner = Owner(); });
  spoilt([](auto& finish) {
    finish.outcome = TaskOutcome::failed;
    finish.text.assign(task_limits::error_bytes + 1, 'e');
  });
  spoilt([](auto& finish) {
    finish.outcome = TaskOutcome::failed;
    finish.delay = -1s;
  });
  auto twice = asking(0);
  twice.finishes.assign(2, held.finish(TaskOutcome::completed));
  EXPECT_THROW(exchange(twice), InvalidArgument);
  EXPECT_TRUE(complete(held));
}

TEST_P(TaskLimits, OfRenewals) {
  add();
  auto const held = claim_one();
  EXPECT_THROW(run(tasks().renew({}, deadline())), InvalidArgument);
  EXPECT_THROW(renew(held.renewal(1ms)), InvalidArgument);
  auto renewal = held.renewal();
  renewal.progress.emplace_back(held.task().id, std::string(task_limits::progress_bytes + 1, 'p'));
  EXPECT_THROW(renew(renewal), InvalidArgument);
  EXPECT_THROW(
      run(tasks().renew(std::vector(TaskStore::max_renewals + 1, held.renewal()), deadline())),
      InvalidArgument);
}

TEST_P(TaskLimits, OfListings) {
  EXPECT_THROW(list(TaskFilter(), "", 0), InvalidArgument);
  EXPECT_THROW(list(TaskFilter(), "", 1001), InvalidArgument);
  EXPECT_THROW(list(TaskFilter(), "no number"), InvalidArgument);
}

}  // namespace
}  // namespace holt::test
