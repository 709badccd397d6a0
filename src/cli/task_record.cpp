// SPDX-License-Identifier: Apache-2.0
#include "cli/task_record.hpp"

#include "cli/duration.hpp"
#include "cli/failure.hpp"
#include "cli/output.hpp"
#include "cli/text.hpp"

#include <holt/task.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {
namespace {

using Time = std::chrono::system_clock::time_point;

constexpr std::size_t widest_value = 1000;

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    auto const part = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t b = 0; b < 3; ++b) {
      bits = bits << 8U | (b < part.size() ? static_cast<unsigned char>(part[b]) : 0U);
    }
    for (std::size_t d = 0; d < 4; ++d) {
      text += d <= part.size() ? digits[bits >> (18 - 6 * d) & 63U] : '=';
    }
  }
  return text;
}

/// Nothing for a time that is not set.
std::string moment(Time time) { return time == Time() ? std::string() : timestamp(time); }

Field text_field(std::string_view key, std::string_view label, std::string const& text) {
  return {key, label, text, printable(text)};
}

Field number_field(std::string_view key, std::string_view label, std::uint64_t number) {
  return {key, label, static_cast<std::int64_t>(number), std::to_string(number)};
}

void add_bytes(Record& record, std::string_view key, std::string_view base64_key,
               std::string const& bytes) {
  bool const sayable = is_utf8(bytes);
  record.push_back({key, key, sayable ? bytes : std::string(), printable(bytes, widest_value)});
  if (!sayable) record.push_back({base64_key, {}, base64(bytes), {}});
}

Field errors_field(std::vector<Attempt> const& errors) {
  std::vector<Record> records;
  records.reserve(errors.size());
  for (auto const& error : errors) {
    records.push_back({
        {"attempt", {}, std::int64_t{error.number}, {}},
        {"fence", {}, error.fence.padded(), {}},
        {"worker", {}, error.worker, {}},
        {"claimed_at", {}, moment(error.claimed_at), {}},
        {"ended_at", {}, moment(error.ended_at), {}},
        {"error",
         {},
         is_utf8(error.error) ? error.error : printable(error.error, widest_value),
         {}},
    });
  }
  auto const last = errors.empty() ? std::string() : printable(errors.back().error, widest_value);
  return {"errors", "last error", std::move(records), last};
}

std::string attempts_text(TaskInfo const& task) {
  return std::to_string(task.attempt) + " of " + std::to_string(task.max_attempts);
}

}  // namespace

Record task_record(TaskInfo const& task) {
  bool const running = task.state == TaskState::running;
  std::string const state(to_string(task.state));
  Record record{
      text_field("id", "id", task.id.text()),
      text_field("queue", {}, task.id.queue()),
      {"state", "state", state, task.cancel_asked ? state + ", to be cancelled" : state},
      text_field("kind", "kind", task.kind),
      {"priority", "priority", std::int64_t{task.priority}, std::to_string(task.priority)},
      {"attempt", "attempt", std::int64_t{task.attempt}, attempts_text(task)},
      number_field("max_attempts", {}, task.max_attempts),
      number_field("returns", {}, task.returns),
      {"timeout_ms", "timeout", std::int64_t{task.timeout.count()},
       task.timeout.count() == 0 ? "" : format_duration(task.timeout)},
      text_field("unique", "unique", task.unique),
      text_field("added_at", "added", moment(task.added_at)),
      text_field("run_at", "runs", moment(task.run_at)),
      text_field("ended_at", "ended", moment(task.ended_at)),
      {"fence", "fence", task.fence.padded(), task.fence == Fence() ? "" : task.fence.decimal()},
      text_field("worker", "worker", task.worker),
      {"expires_in_ms", "expires", std::int64_t{task.expires_in.count()},
       running ? "in " + rounded_duration(task.expires_in) : ""},
      {"cancel_asked", {}, task.cancel_asked, {}},
      text_field("progress", "progress", task.progress),
  };
  add_bytes(record, "metadata", "metadata_base64", task.metadata);
  add_bytes(record, "payload", "payload_base64", task.payload);
  add_bytes(record, "result", "result_base64", task.result);
  record.push_back(errors_field(task.errors));
  return record;
}

Record task_line(TaskInfo const& task) {
  constexpr std::array<std::string_view, 7> shown{"id",      "state",  "kind",    "priority",
                                                  "attempt", "run_at", "progress"};
  constexpr std::array<std::string_view, 6> absent{
      "payload", "payload_base64", "result", "result_base64", "errors", "metadata_base64"};
  auto record = task_record(task);
  std::erase_if(record, [&](Field const& field) {
    return std::ranges::find(absent, field.key) != absent.end();
  });
  for (auto& field : record) {
    if (std::ranges::find(shown, field.key) == shown.end()) field.label = {};
  }
  return record;
}

TaskId task_id(std::string const& text) {
  auto id = TaskId::parse(text);
  if (id) return *std::move(id);
  throw UsageError(in_quotes(text) + " is no id of a task: " + id.error(),
                   "an id as holt queue add printed it, such as mail/42");
}

}  // namespace holt::cli
