// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/store_file.hpp"

#include "base/trust_word.hpp"
#include "engines/sqlite/errors.hpp"
#include "engines/sqlite/place.hpp"
#include "engines/sqlite/readable.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

namespace holt::sqlite {

struct StoreFile::State : std::enable_shared_from_this<State> {
  State(Env& the_env, std::string the_path)
      : env(the_env),
        path(std::move(the_path)),
        fd(::open(path.c_str(), O_PATH | O_CLOEXEC)),
        identity(FileIdentity::of(path)) {
    same_process.set(Instant::max());
  }
  ~State() {
    if (fd >= 0) ::close(fd);
  }
  State(State const&) = delete;
  State& operator=(State const&) = delete;

  [[nodiscard]] bool path_leads_elsewhere() const { return !(FileIdentity::of(path) == identity); }

  /// Looked at once a millisecond at the most: a busy writer would pay for nothing else.
  [[nodiscard]] bool changed() {
    auto const now = env.now().time_since_epoch().count();
    if (now - walked_ns.load(std::memory_order_relaxed) < walk_again_ns) return false;
    walked_ns.store(now, std::memory_order_relaxed);
    return path_leads_elsewhere();
  }

  void lost() {
    if (gone.exchange(true)) return;
    asio::post(env.executor(), [self = shared_from_this()] { self->tell(); });
  }

  void tell() {
    std::scoped_lock const lock(telling);
    auto const call = [this] {
      std::scoped_lock const inner(mutex);
      return std::exchange(listener, nullptr);
    }();
    if (call) call(fmt::format("the store file {} was deleted or replaced", path));
  }

  static constexpr std::int64_t walk_again_ns = 1'000'000;

  Env& env;
  std::string const path;
  int const fd;  // keeps the inode's number from being used again; O_PATH: closing drops no locks
  FileIdentity const identity;
  TrustWord same_process;  // 0 in a forked child
  std::atomic<std::int64_t> walked_ns{0};
  std::atomic<bool> gone{false};
  // Held during the call: clearing the listener waits for its end. The listener may clear itself.
  std::recursive_mutex telling;
  std::mutex mutex;
  std::function<void(std::string)> listener;
  bool watching = false;
  std::unique_ptr<Readable> watched;
};

namespace {

constexpr std::uint32_t events = IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB;

void drain(int fd) {
  std::array<char, 4096> buffer{};
  while (::read(fd, buffer.data(), buffer.size()) > 0) {
  }
}

/// A descriptor that is readable when something happened to the file, or -1.
int make_watch(std::string const& path) {
  int const fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) return -1;
  if (::inotify_add_watch(fd, path.c_str(), events) < 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

}  // namespace

StoreFile::StoreFile(Env& env, std::string path)
    : state_(std::make_shared<State>(env, std::move(path))) {}

StoreFile::~StoreFile() {
  on_gone(nullptr);
  std::unique_ptr<Readable> watched;
  {
    std::scoped_lock const lock(state_->mutex);
    watched.swap(state_->watched);
  }
}

std::string const& StoreFile::path() const noexcept { return state_->path; }

void StoreFile::check(std::string_view operation) {
  if (state_->same_process.until() != Instant::max()) {
    throw store_error(ErrorCode::aborted, operation,
                      "this store was opened by the process that forked this one",
                      "open it again after fork()");
  }
  if (!state_->gone.load(std::memory_order_relaxed) && !state_->changed()) return;
  state_->lost();
  throw store_error(ErrorCode::service_unavailable, operation,
                    fmt::format("the store file {} was deleted or replaced", state_->path),
                    "its leases are void; open the store again");
}

void StoreFile::on_gone(std::function<void(std::string reason)> gone) {
  {
    std::scoped_lock const lock(state_->mutex);
    state_->listener.swap(gone);
    if (state_->gone && state_->listener) {
      asio::post(state_->env.executor(), [state = state_] { state->tell(); });
    }
  }
  // What was called before is not under way any more when this returns.
  std::scoped_lock const lock(state_->telling);
}

void StoreFile::watch() {
  {
    std::scoped_lock const lock(state_->mutex);
    if (state_->gone || std::exchange(state_->watching, true)) return;
  }
  int const fd = make_watch(state_->path);
  // From here on nothing is missed; what happened before is seen by looking.
  if (state_->path_leads_elsewhere()) state_->lost();
  if (fd < 0) return;
  std::weak_ptr<State> const weak = state_;
  auto watched = std::make_unique<Readable>(state_->env.executor(), fd, [weak, fd] {
    drain(fd);
    auto const state = weak.lock();
    if (state && state->path_leads_elsewhere()) state->lost();
  });
  std::scoped_lock const lock(state_->mutex);
  state_->watched = std::move(watched);
}

}  // namespace holt::sqlite
