// SPDX-License-Identifier: Apache-2.0
// The only file that knows spdlog.
#include "cli/log.hpp"

#include "cli/failure.hpp"
#include "cli/text.hpp"

#include <holt/fence.hpp>
#include <holt/log.hpp>
#include <holt/open.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <string_view>
#include <utility>

namespace holt::cli {
namespace {

std::string_view setting(char const* variable, std::string_view otherwise) {
  auto const* const value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? otherwise : std::string_view(value);
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

/// The event's own fields, in the order of the documentation; empty ones are left out.
template <class Add>
void for_each_field(LogEvent const& event, Add const& add) {
  add("level", std::string(to_string(event.level)));
  add("event", event.event);
  add("instance", event.instance);
  add("name", event.name);
  add("owner", event.owner);
  if (event.fence != 0) add("fence", Fence(event.fence).padded());
  add("reason", event.reason);
}

/// {"level":"warn",...} without its opening brace: the time goes before it.
std::string json_fields(LogEvent const& event) {
  boost::json::object object;
  for_each_field(event, [&](std::string_view key, std::string const& value) {
    if (!value.empty()) object[key] = value;
  });
  return boost::json::serialize(object).substr(1);
}

std::string text_fields(LogEvent const& event) {
  std::string text;
  for_each_field(event, [&](std::string_view key, std::string const& value) {
    if (value.empty()) return;
    if (!text.empty()) text += ' ';
    if (key == "level" || key == "event") {
      text += value;
    } else {
      bool const plain = value.find_first_of(" \"=") == std::string::npos;
      text.append(key).append("=").append(plain ? printable(value) : in_quotes(value));
    }
  });
  return text;
}

std::unique_ptr<spdlog::logger> make_spdlog(bool json) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  constexpr std::string_view time = "%Y-%m-%dT%H:%M:%S.%eZ";
  std::string const pattern =
      json ? "{\"time\":\"" + std::string(time) + "\",%v" : std::string(time) + " %v";
  sink->set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
  auto logger = std::make_unique<spdlog::logger>("holt", std::move(sink));
  logger->set_level(spdlog::level::debug);  // the library has chosen already
  return logger;
}

constinit std::atomic<bool> in_use = false;
std::binary_semaphore finished(0);

/// What the copies of the callback share. Each event on its way holds one: when the last is gone,
/// everything has been written.
class Writer {
 public:
  explicit Writer(bool json) : json_(json) { in_use = true; }
  ~Writer() { finished.release(); }
  Writer(Writer const&) = delete;
  Writer& operator=(Writer const&) = delete;

  void write(LogEvent const& event) {
    std::call_once(first_, [this] { logger_ = make_spdlog(json_); });
    logger_->log(spdlog_level(event.level), "{}", json_ ? json_fields(event) : text_fields(event));
  }

 private:
  bool json_;
  std::once_flag first_;
  std::unique_ptr<spdlog::logger> logger_;
};

}  // namespace

void finish_log() noexcept {
  using std::chrono_literals::operator""ms;
  if (in_use) static_cast<void>(finished.try_acquire_for(2000ms));
}

void log_to_stderr(OpenOptions& options) {
  auto const format = setting("HOLT_LOG_FORMAT", "text");
  if (format != "text" && format != "json") {
    throw UsageError("HOLT_LOG_FORMAT is " + in_quotes(format) + "; set it to text or json");
  }
  auto const level = setting("HOLT_LOG_LEVEL", "warn");
  if (level == "off") return;
  for (auto const known : {LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error}) {
    if (to_string(known) != level) continue;
    options.log_level = known;
    options.log = [writer = std::make_shared<Writer>(format == "json")](LogEvent const& event) {
      writer->write(event);
    };
    return;
  }
  throw UsageError("HOLT_LOG_LEVEL is " + in_quotes(level) +
                   "; set it to debug, info, warn, error or off");
}

}  // namespace holt::cli
