// SPDX-License-Identifier: Apache-2.0
// Adds: most go a short way through the server, the others a longer one. Both decide about the same
// requests and numbers; and who idles in the adder's own process needs no notification.

#include "postgres/task_caller.hpp"

#include <fmt/format.h>

#include <future>
#include <vector>

namespace holt::test {
namespace {

class PostgresTaskAdds : public OnOneServer {
 protected:
  /// Of one task; who repeats a request goes the longer way.
  enum class How { fresh, again };
  static std::future<std::vector<Added>> begin(TaskCaller& caller, std::string series,
                                               How how = How::fresh) {
    AddRequest adding(TaskCaller::queue, {NewTask("job", "payload")});
    adding.request = RequestId(std::move(series));
    adding.request.fresh = how == How::fresh;
    return std::async(std::launch::async,
                      [&caller, adding = std::move(adding)] { return caller.add_as(adding); });
  }
  static std::vector<std::uint64_t> numbers_of(std::vector<Added> const& added) {
    std::vector<std::uint64_t> numbers;
    for (auto const& one : added) numbers.push_back(one.id.number());
    return numbers;
  }
};

TEST_F(PostgresTaskAdds, ARequestIsTheSameWhicheverWayItGoes) {
  TaskCaller caller(url_);
  auto const short_way = begin(caller, "a").get();
  auto const long_way = begin(caller, "b", How::again).get();
  EXPECT_EQ(begin(caller, "a", How::again).get().front().id, short_way.front().id);
  EXPECT_EQ(begin(caller, "b").get().front().id, long_way.front().id);
  EXPECT_EQ(caller.count().pending, 2U);
}

TEST_F(PostgresTaskAdds, WhoSayTheSameAtOnceOnBothWaysAddOnce) {
  TaskCaller one(url_);
  TaskCaller other(url_);
  for (int round = 0; round < 40; ++round) {
    auto const request = "r" + std::to_string(round);
    auto here = begin(one, request);
    auto there = begin(other, request, How::again);
    EXPECT_EQ(here.get().front().id, there.get().front().id);
  }
  EXPECT_EQ(one.count().pending, 40U);
}

TEST_F(PostgresTaskAdds, WhoWaitsForTheSameRequestAddsItWhenTheFirstFails) {
  TaskCaller caller(url_);
  begin(caller, "first").get();
  server().query(fmt::format(
      "CREATE SEQUENCE {0}.tries; CREATE FUNCTION {0}.slow() RETURNS trigger LANGUAGE plpgsql AS "
      "$$ BEGIN "
      "IF NEW.series = 'r' AND nextval('{0}.tries') = 1 THEN PERFORM pg_sleep(0.3); "
      "RAISE EXCEPTION 'no'; END IF; RETURN NEW; END $$; CREATE TRIGGER slow AFTER INSERT ON "
      "{0}.task_request FOR EACH ROW EXECUTE FUNCTION {0}.slow()",
      schema_));
  TaskCaller other(url_);
  auto here = begin(caller, "r");
  auto there = begin(other, "r", How::again);
  auto const refused = [](std::future<std::vector<Added>>& call) {
    auto const error = error_of([&] { static_cast<void>(call.get()); });
    if (!error) return 0;
    EXPECT_EQ(error->outcome(), Outcome::not_applied) << error->what();
    return 1;
  };
  EXPECT_EQ(refused(here) + refused(there), 1);
  EXPECT_EQ(caller.count().pending, 2U);
}

TEST_F(PostgresTaskAdds, ThoseWhoComeTogetherAreOneRow) {
  TaskCaller caller(url_);
  begin(caller, "first").get();
  auto const add_from = [&](std::uint64_t from) {
    std::vector<RequestId> ids;
    for (auto number = from; number < from + 20; ++number) {
      ids.emplace_back("series", number).fresh = true;
    }
    return caller.add_together(std::move(ids));
  };
  auto const rows = "SELECT string_agg(number || '+' || callers, ' ' ORDER BY number) FROM " +
                    schema_ + ".task_request WHERE series = 'series'";
  auto const numbers = add_from(1);
  EXPECT_EQ(server().query(rows), "1+20");
  EXPECT_EQ(numbers.back() - numbers.front(), 19U);
  // As if others drew from it all the time.
  server().query("ALTER SEQUENCE " + schema_ + ".task_number INCREMENT BY 48");
  auto const scattered = add_from(30);
  EXPECT_EQ(server().query(rows), "1+20 30+20");
  EXPECT_EQ(scattered.back() - scattered.front(), 48U + 3);
  for (std::uint64_t n = 0; n < 20; ++n) {
    AddRequest again(TaskCaller::queue, {NewTask("job", "payload")});
    again.request = RequestId("series", 30 + n);
    EXPECT_EQ(caller.add_as(again).front().id.number(), scattered.at(n));
  }
}

TEST_F(PostgresTaskAdds, OneThatIsKeptWaitingKeepsNoOther) {
  TaskCaller caller(url_ + "&application_name=adder");
  begin(caller, "first").get();
  server().query(fmt::format(
      "CREATE FUNCTION {0}.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "IF NEW.series = 'slow' THEN PERFORM pg_sleep(60); END IF; RETURN NEW; END $$; "
      "CREATE TRIGGER slow AFTER INSERT ON {0}.task_request FOR EACH ROW EXECUTE FUNCTION "
      "{0}.slow()",
      schema_));
  auto kept = begin(caller, "slow");
  auto const sleeps =
      "FROM pg_stat_activity WHERE application_name = 'adder' AND wait_event = "
      "'PgSleep'";
  ASSERT_TRUE(
      wait_until([&] { return server().query(fmt::format("SELECT count(*) {}", sleeps)) == "1"; }));
  for (int i = 0; i < 20; ++i) begin(caller, fmt::format("quick{}", i)).get();
  EXPECT_NE(kept.wait_for(0s), std::future_status::ready);
  server().query(fmt::format("SELECT pg_cancel_backend(pid) {}", sleeps));
  EXPECT_TRUE(error_of([&] { static_cast<void>(kept.get()); }));
}

TEST_F(PostgresTaskAdds, NumbersThatAreNotConsecutiveAreToldAndKept) {
  TaskCaller caller(url_);
  caller.add_tasks(1);
  drain(caller, 1);
  // As if others drew from it all the time.
  server().query("ALTER SEQUENCE " + schema_ + ".task_number INCREMENT BY 48");
  auto const numbers = numbers_of(caller.add_tasks(300, "request"));
  ASSERT_EQ(numbers.size(), 300U);
  EXPECT_EQ(numbers.back() - numbers.front(), 18U * 48 + 11);
  EXPECT_EQ(numbers_of(caller.add_tasks(300, "request")), numbers);
  EXPECT_EQ(drain(caller, 1000), numbers);
}

TEST_F(PostgresTaskAdds, AWorkerOfTheSameClientIsWokenByTheAnswerAlone) {
  TaskCaller caller(url_);
  caller.add_tasks(1);
  drain(caller, 1);
  WorkListener const listener(caller);
  EXPECT_TRUE(caller.idle().tasks.empty());
  server().query(fmt::format(
      "CREATE OR REPLACE FUNCTION {0}.tell_inbox(_instance text, _inbox text, _topic text, "
      "_text text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'told'; END $$",
      schema_));
  caller.add_tasks(1);
  EXPECT_TRUE(wait_until([&] { return listener.heard() == 1; }));
}

}  // namespace
}  // namespace holt::test
