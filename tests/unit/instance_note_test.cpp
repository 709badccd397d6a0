// SPDX-License-Identifier: Apache-2.0
#include "base/instance_note.hpp"

#include "base/flat_json.hpp"

#include <gtest/gtest.h>

namespace holt {
namespace {

TEST(FlatJsonTest, WritesFieldsInOrderAndReadsThemBack) {
  JsonLine line;
  line.add("text", "a \"quoted\" \\ line\n\x01é").add("number", -12);
  EXPECT_EQ(line.text(), R"({"text":"a \"quoted\" \\ line\u000a\u0001é","number":-12})");
  auto const fields = read_json_line(line.text());
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->at("text"), "a \"quoted\" \\ line\n\x01é");
  EXPECT_EQ(fields->at("number"), "-12");
}

TEST(FlatJsonTest, ReadsWhatOthersWrite) {
  auto const fields =
      read_json_line(" { \"a\" : \"\\u00e9\\ud83d\\ude00\\/\\t\" , \"b\":true,\"c\":null} ");
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->at("a"), "é😀/\t");
  EXPECT_EQ(fields->at("b"), "true");
  EXPECT_EQ(fields->at("c"), "null");
  EXPECT_TRUE(read_json_line("{}"));
}

TEST(FlatJsonTest, RefusesWhatIsNoSuchObject) {
  for (auto const* const text :
       {"", "{", "}", "[]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1 \"b\":2}", "{\"a\":{}}",
        "{\"a\":[1]}", "{\"a\":1.5}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}", "{\"a\":\"\\udc00\"}",
        "{\"a\":\"\\ud800x\"}", "{\"a\":\"open", "{\"a\":\"line\nbreak\"}", "{\"a\":1} more",
        "{,\"a\":1}"}) {
    EXPECT_FALSE(read_json_line(text)) << text;
  }
}

InstanceNote example() {
  InstanceNote note;
  note.instance = "myproject";
  note.replica = "r1";
  note.run_id = "550e8400-e29b-41d4-a716-446655440000";
  note.workspace_path = "/absolute/path/to/project";
  note.started_at = "2025-10-05T12:34:56Z";
  note.orchestrator_pid = 12345;
  note.hostname = "h";
  note.address = "h:80";
  return note;
}

TEST(InstanceNoteTest, MetadataIsWhatTheSpecificationWritesAndHostAndAddress) {
  EXPECT_EQ(example().metadata(),
            R"({"run_id":"550e8400-e29b-41d4-a716-446655440000",)"
            R"("workspace_path":"/absolute/path/to/project","started_at":"2025-10-05T12:34:56Z",)"
            R"("orchestrator_pid":12345,"hostname":"h","address":"h:80"})");
}

TEST(InstanceNoteTest, ReadsBoth) {
  auto const note = read_instance_note(example().note());
  ASSERT_TRUE(note);
  EXPECT_EQ(note->instance, "myproject");
  EXPECT_EQ(note->replica, "r1");
  EXPECT_EQ(note->orchestrator_pid, 12345);
  auto const metadata = read_instance_note(example().metadata());
  ASSERT_TRUE(metadata);
  EXPECT_EQ(metadata->instance, "");
  EXPECT_EQ(metadata->workspace_path, "/absolute/path/to/project");
  EXPECT_FALSE(read_instance_note("orchestrator:1759667696"));
  EXPECT_FALSE(read_instance_note("{\"pid\":1}"));
}

TEST(InstanceNoteTest, TimesGoBothWays) {
  auto const when = std::chrono::sys_days(std::chrono::January / 2 / 2026) + std::chrono::hours(3);
  EXPECT_EQ(iso_time(when), "2026-01-02T03:00:00Z");
  EXPECT_EQ(read_iso_time("2026-01-02T03:00:00Z"), when);
  for (auto const* const text : {"", "2026-01-02", "2026-13-02T03:00:00Z", "2026-01-02T25:00:00Z",
                                 "2026-01-02 03:00:00Z", "2026-02-30T03:00:00Z"}) {
    EXPECT_EQ(read_iso_time(text), std::chrono::system_clock::time_point()) << text;
  }
}

TEST(InstanceNoteTest, AUuidSaysItsVersion) {
  EXPECT_EQ(uuid_of(0, 0), "00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(uuid_of(~std::uint64_t{0}, ~std::uint64_t{0}), "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

}  // namespace
}  // namespace holt
