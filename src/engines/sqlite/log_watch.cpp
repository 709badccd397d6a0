// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/log_watch.hpp"

#include "engines/sqlite/readable.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <mutex>
#include <utility>

namespace holt::sqlite {
namespace {

// After the last write.
constexpr std::array<std::chrono::milliseconds, 4> repeat_after{
    std::chrono::milliseconds(5), std::chrono::milliseconds(50), std::chrono::milliseconds(500),
    std::chrono::milliseconds(5000)};

/// Handlers keep it alive, so one that comes late finds it closed and does nothing.
class Hints : public std::enable_shared_from_this<Hints> {
 public:
  Hints(Env& env, std::function<void()> changed) : env_(env), changed_(std::move(changed)) {}

  /// Something was written. On Env::executor().
  void written() {
    std::scoped_lock const lock(mutex_);
    if (closed_) return;
    changed_();
    last_write_ = env_.now();
    repeats_ = 0;
    if (timer_ == 0) arm();
  }

  void close() {
    std::scoped_lock const lock(mutex_);
    closed_ = true;
    if (timer_ != 0) env_.cancel(timer_);
  }

 private:
  [[nodiscard]] Instant next() const { return last_write_ + repeat_after.at(repeats_); }

  /// One timer at a time, which is not moved by each write: there may be thousands in a second.
  void arm() {
    timer_ = env_.call_at(next(), [weak = weak_from_this()] {
      if (auto const self = weak.lock()) self->ring();
    });
  }

  void ring() {
    std::scoped_lock const lock(mutex_);
    timer_ = 0;
    if (closed_) return;
    if (env_.now() >= next()) {
      changed_();
      if (++repeats_ == repeat_after.size()) return;
    }
    arm();
  }

  Env& env_;
  std::function<void()> const changed_;
  std::mutex mutex_;
  bool closed_ = false;
  Instant last_write_;
  std::size_t repeats_ = 0;
  Env::TimerId timer_ = 0;  // 0: none
};

class LogWatch final : public ChangeWatch {
 public:
  /// Takes `fd`, which is readable when something happened.
  LogWatch(Env& env, int fd, std::function<void()> changed)
      : hints_(std::make_shared<Hints>(env, std::move(changed))),
        readable_(env.executor(), fd, [fd, hints = hints_] {
          std::array<char, 4096> events{};
          while (::read(fd, events.data(), events.size()) > 0) {
          }
          hints->written();
        }) {}
  ~LogWatch() override { hints_->close(); }
  LogWatch(LogWatch const&) = delete;
  LogWatch& operator=(LogWatch const&) = delete;

 private:
  std::shared_ptr<Hints> hints_;
  Readable readable_;
};

/// A descriptor, or -1.
int open_watch(std::string const& path) {
  int const fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) return -1;
  bool const watches =
      ::inotify_add_watch(fd, (path + "-wal").c_str(), IN_MODIFY | IN_DELETE_SELF) >= 0 &&
      ::inotify_add_watch(fd, path.c_str(), IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB) >= 0;
  if (watches) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

std::unique_ptr<ChangeWatch> watch_log(Env& env, std::string const& path,
                                       std::function<void()> changed) {
  int const fd = open_watch(path);
  if (fd < 0) return nullptr;
  return std::make_unique<LogWatch>(env, fd, std::move(changed));
}

}  // namespace holt::sqlite
