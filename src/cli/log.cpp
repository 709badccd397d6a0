// SPDX-License-Identifier: Apache-2.0
// The only file that knows spdlog.
#include "cli/log.hpp"

#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/text.hpp"

#include <holt/fence.hpp>
#include <holt/log.hpp>
#include <holt/open.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

std::unique_ptr<spdlog::logger> make_spdlog(bool json, spdlog::sink_ptr sink) {
  constexpr std::string_view time = "%Y-%m-%dT%H:%M:%S.%eZ";
  std::string const pattern =
      json ? "{\"time\":\"" + std::string(time) + "\",%v" : std::string(time) + " %v";
  sink->set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
  auto logger = std::make_unique<spdlog::logger>("holt", std::move(sink));
  logger->set_level(spdlog::level::debug);  // the library has chosen already
  logger->flush_on(spdlog::level::debug);
  return logger;
}

/// A log file has just been opened: what else we write goes there too, so a last word is found.
void take_output(std::FILE* file) noexcept {
  int const fd = ::fileno(file);
  ::fchmod(fd, S_IRUSR | S_IWUSR);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::flock(fd, LOCK_EX | LOCK_NB);  // log_place.hpp: it is in use
  ::dup2(fd, STDOUT_FILENO);
  ::dup2(fd, STDERR_FILENO);
}

struct LogSettings {
  LogLevel level;
  bool json;
};

/// Nothing: it is off.
std::optional<LogSettings> log_settings(std::string_view usual_level) {
  auto const format = setting("HOLT_LOG_FORMAT", "text");
  if (format != "text" && format != "json") {
    throw UsageError("HOLT_LOG_FORMAT is " + in_quotes(format) + "; set it to text or json");
  }
  auto const level = setting("HOLT_LOG_LEVEL", usual_level);
  if (level == "off") return std::nullopt;
  for (auto const known : {LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error}) {
    if (to_string(known) == level) return LogSettings{known, format == "json"};
  }
  throw UsageError("HOLT_LOG_LEVEL is " + in_quotes(level) +
                   "; set it to debug, info, warn, error or off");
}

constexpr std::size_t most_kept = 1000;
constexpr std::size_t old_files = 2;
constinit std::atomic<bool> in_use = false;
std::binary_semaphore finished(0);

}  // namespace

/// What the copies of the callback share. Each event on its way holds one: when the last is gone,
/// everything has been written.
class LogWriter {
 public:
  LogWriter(bool json, bool keeps) : json_(json), keeps_(keeps) { in_use = true; }
  ~LogWriter() { finished.release(); }
  LogWriter(LogWriter const&) = delete;
  LogWriter& operator=(LogWriter const&) = delete;

  void write(LogEvent const& event) {
    std::scoped_lock const lock(mutex_);
    if (keeps_) {
      if (kept_.size() < most_kept) kept_.push_back(event);
      return;
    }
    if (!logger_) logger_ = make_spdlog(json_, std::make_shared<spdlog::sinks::stderr_sink_mt>());
    write_now(event);
  }

  void open_file(std::string const& path, std::size_t bytes) {
    spdlog::file_event_handlers handlers;
    handlers.after_open = [](std::string const&, std::FILE* file) { take_output(file); };
    auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path, bytes, old_files,
                                                                       false, handlers);
    std::scoped_lock const lock(mutex_);
    logger_ = make_spdlog(json_, std::move(sink));
    keeps_ = false;
    for (auto const& event : std::exchange(kept_, {})) write_now(event);
  }

 private:
  void write_now(LogEvent const& event) {
    logger_->log(spdlog_level(event.level), "{}", json_ ? json_fields(event) : text_fields(event));
  }

  bool json_;
  std::mutex mutex_;
  bool keeps_;
  std::vector<LogEvent> kept_;
  std::unique_ptr<spdlog::logger> logger_;
};

ServiceLog::ServiceLog(Place place) {
  auto const wanted = log_settings("info");
  if (!wanted) return;
  level_ = wanted->level;
  writer_ = std::make_shared<LogWriter>(wanted->json, place == Place::file);
}

void ServiceLog::attach(OpenOptions& options) const {
  if (!writer_) return;
  options.log_level = level_;
  options.log = [writer = writer_](LogEvent const& event) { writer->write(event); };
}

void ServiceLog::write(LogEvent const& event) const {
  if (writer_ && event.level >= level_) writer_->write(event);
}

void ServiceLog::open_file(std::string const& path, std::size_t bytes) const {
  try {
    auto const writer = writer_ ? writer_ : std::make_shared<LogWriter>(false, true);
    writer->open_file(path, bytes);
  } catch (spdlog::spdlog_ex const& error) {
    throw Failure(ExitCode::failed, "cannot write the log: " + std::string(error.what()));
  }
}

void finish_log() noexcept {
  using std::chrono_literals::operator""ms;
  if (in_use) static_cast<void>(finished.try_acquire_for(2000ms));
}

void log_to_stderr(OpenOptions& options) {
  auto const wanted = log_settings("warn");
  if (!wanted) return;
  options.log_level = wanted->level;
  options.log = [writer = std::make_shared<LogWriter>(wanted->json, false)](LogEvent const& event) {
    writer->write(event);
  };
}

}  // namespace holt::cli
