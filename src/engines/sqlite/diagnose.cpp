// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/diagnose.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>
#include <sqlite3.h>

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <utility>

namespace holt::sqlite {
namespace {

constexpr int enough_datagrams = 10;

/// Reads something with a connection that others use too.
class LookStep final : public Step {
 public:
  LookStep(std::function<void(Connection&)> look, Instant deadline)
      : Step("diagnose", deadline), look_(std::move(look)) {}
  void run(Connection& store) override { look_(store); }

 private:
  std::function<void(Connection&)> look_;
};

/// Runs the step where it belongs; the finding that says why that was not possible.
template <class Runner>
asio::awaitable<std::optional<Finding>> look(Runner& runner, Step& step, std::string id,
                                             std::string title) {
  std::optional<Finding> failed;
  try {
    co_await runner.run(step);
  } catch (EngineError const& error) {
    failed.emplace(
        id, title, FindingStatus::fail, error.reason(),
        error.hint().empty() ? "see the other findings, then run holt doctor again" : error.hint());
  }
  co_return failed;
}

void add(std::vector<Finding>& findings, std::vector<Finding> more) {
  findings.insert(findings.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
}

std::optional<int> datagram_queue_length() {
  std::ifstream file("/proc/sys/net/unix/max_dgram_qlen");
  int length = 0;
  if (!(file >> length)) return std::nullopt;
  return length;
}

}  // namespace

Finding durability_finding(Sync sync) {
  std::string detail =
      sync == Sync::full
          ? "embedded, sync=full: leases and records are on the disk before they are "
            "answered"
          : "embedded, sync=normal: records are on the disk before they are answered";
  detail += "; leases survive the crash of every process, and end with the boot";
  return {"durability", "Durability", FindingStatus::info, std::move(detail), {}};
}

Finding library_finding() {
  auto detail = fmt::format(
      "{}, linked in; it checkpoints only while Holt keeps all writers out (3.40 loses commits "
      "otherwise)",
      sqlite3_libversion());
  if (sqlite3_threadsafe() != 0) {
    return {"sqlite", "SQLite", FindingStatus::ok, std::move(detail), {}};
  }
  return {"sqlite", "SQLite", FindingStatus::fail,
          fmt::format("{} was built without threads", sqlite3_libversion()),
          "link Holt with an SQLite that was built with SQLITE_THREADSAFE=1"};
}

/// Tries it: the limit counts all programs of the user, and only the kernel knows the number.
Finding inotify_finding(std::string const& path) {
  int const fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  bool const works = fd >= 0 && ::inotify_add_watch(fd, path.c_str(), IN_DELETE_SELF) >= 0;
  int const number = errno;
  if (fd >= 0) ::close(fd);
  if (works) {
    return {"inotify", "File watches", FindingStatus::ok, "inotify has room for a watch", {}};
  }
  return {
      "inotify", "File watches", FindingStatus::warn,
      fmt::format("inotify has no room for a watch ({}): a store that is deleted or replaced is "
                  "noticed at the next call, not at once",
                  std::strerror(number)),
      "sysctl fs.inotify.max_user_instances=1024 fs.inotify.max_user_watches=65536"};
}

Finding datagrams_finding(std::optional<int> queue_length) {
  if (!queue_length) {
    return {"datagrams",
            "Wake-ups",
            FindingStatus::info,
            "the system does not say how many a socket holds (net.unix.max_dgram_qlen)",
            {}};
  }
  auto detail = fmt::format("a socket holds {} (net.unix.max_dgram_qlen)", *queue_length);
  if (*queue_length >= enough_datagrams) {
    return {"datagrams", "Wake-ups", FindingStatus::ok, std::move(detail), {}};
  }
  return {"datagrams", "Wake-ups", FindingStatus::warn,
          detail + ": in a burst some are lost, and waiters wake late",
          "sysctl net.unix.max_dgram_qlen=512"};
}

asio::awaitable<std::vector<Finding>> diagnose(Env& env, Place place, Writer& writer,
                                               Reader& reader, std::chrono::nanoseconds patience) {
  Settings settings;
  LookStep look_at_settings([&](Connection& store) { settings = read_settings(store); },
                            env.now() + patience);
  auto no_settings = co_await look(writer, look_at_settings, "settings", "Settings");
  Content content;
  LookStep look_at_content([&](Connection& store) { content = read_content(env, store); },
                           env.now() + patience);
  auto no_content = co_await look(reader, look_at_content, "content", "Content");

  auto const folder = folder_of(place.path);
  std::vector<Finding> findings;
  if (no_content) {
    findings.push_back(std::move(*no_content));
  } else {
    add(findings, content_findings(content, env.boot_id(), env.wall()));
  }
  if (no_settings) {
    findings.push_back(std::move(*no_settings));
  } else {
    add(findings, settings_findings(settings, place.sync));
  }
  findings.push_back(durability_finding(place.sync));
  findings.push_back(library_finding());
  findings.push_back(programs_finding(place));
  findings.push_back(stopped_finding(place));
  findings.push_back(log_finding(place.path));
  findings.push_back(tasks_finding(place.tasks().path));
  findings.push_back(permissions_finding(place));
  try {
    findings.push_back(file_system_finding(folder, file_system_kind(folder)));
  } catch (EngineError const& error) {
    findings.emplace_back("file-system", "File system", FindingStatus::warn, error.reason(),
                          "check that the store's folder can be looked at");
  }
  findings.push_back(space_finding(space_of(folder)));
  findings.push_back(inbox_finding(env, place));
  findings.push_back(datagrams_finding(datagram_queue_length()));
  findings.push_back(inotify_finding(place.path));
  co_return findings;
}

}  // namespace holt::sqlite
