// SPDX-License-Identifier: Apache-2.0
#include "base/instance_note.hpp"

#include "base/flat_json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace holt {
namespace {

void add_metadata(JsonLine& line, InstanceNote const& note) {
  line.add("run_id", note.run_id)
      .add("workspace_path", note.workspace_path)
      .add("started_at", note.started_at)
      .add("orchestrator_pid", note.orchestrator_pid)
      .add("hostname", note.hostname)
      .add("address", note.address);
}

/// The number of exactly so many digits at `at`.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  int value = 0;
  auto const part = text.substr(at, count);
  auto const [end, error] = std::from_chars(part.begin(), part.end(), value);
  if (error != std::errc() || end != part.end() || part.starts_with('-')) return std::nullopt;
  return value;
}

}  // namespace

std::string InstanceNote::note() const {
  JsonLine line;
  line.add("instance", instance);
  add_metadata(line, *this);
  line.add("replica", replica);
  return line.text();
}

std::string InstanceNote::metadata() const {
  JsonLine line;
  add_metadata(line, *this);
  return line.text();
}

std::optional<InstanceNote> read_instance_note(std::string_view text) {
  auto fields = read_json_line(text);
  if (!fields || (*fields)["run_id"].empty()) return std::nullopt;
  auto const take = [&](std::string_view key) {
    auto const found = fields->find(key);
    return found == fields->end() ? std::string() : std::move(found->second);
  };
  InstanceNote note;
  note.instance = take("instance");
  note.replica = take("replica");
  note.run_id = take("run_id");
  note.workspace_path = take("workspace_path");
  note.started_at = take("started_at");
  note.hostname = take("hostname");
  note.address = take("address");
  auto const pid = take("orchestrator_pid");
  std::from_chars(pid.data(), pid.data() + pid.size(), note.orchestrator_pid);
  return note;
}

std::string iso_time(std::chrono::system_clock::time_point when) {
  using std::chrono::floor;
  auto const day = floor<std::chrono::days>(when);
  std::chrono::year_month_day const date(day);
  std::chrono::hh_mm_ss const time(floor<std::chrono::seconds>(when - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

std::chrono::system_clock::time_point read_iso_time(std::string_view text) {
  constexpr std::string_view shape = "dddd-dd-ddTdd:dd:ddZ";
  if (text.size() != shape.size()) return {};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 'd' && shape[i] != text[i]) return {};
  }
  auto const year = digits(text, 0, 4);
  auto const month = digits(text, 5, 2);
  auto const day = digits(text, 8, 2);
  auto const hour = digits(text, 11, 2);
  auto const minute = digits(text, 14, 2);
  auto const second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return {};
  std::chrono::year_month_day const date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return {};
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second);
}

std::string uuid_of(std::uint64_t high, std::uint64_t low) {
  high = (high & ~std::uint64_t{0xF000}) | 0x4000U;
  low = (low & ~(std::uint64_t{0xC} << 60U)) | (std::uint64_t{0x8} << 60U);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32U, high >> 16U & 0xFFFFU,
                     high & 0xFFFFU, low >> 48U, low & 0xFFFFFFFFFFFFU);
}

}  // namespace holt
