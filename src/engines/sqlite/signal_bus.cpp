// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/signal_bus.hpp"

#include "contracts/signal_handlers.hpp"
#include "engines/sqlite/inbox_folder.hpp"
#include "engines/sqlite/readable.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace holt::sqlite {
namespace {

constexpr std::size_t max_message = 2048;
constexpr std::size_t max_inboxes = 10'000;  // that a publish reaches
constexpr std::size_t max_swept = 64;
constexpr int max_received = 64;  // before others get their turn on the loop

/// How many datagrams the kernel keeps for a socket (one more, in fact) before it refuses some.
int kernel_queue_length() {
  constexpr int usual = 10;
  int length = 0;
  std::ifstream file("/proc/sys/net/unix/max_dgram_qlen");
  return file >> length ? length : usual;
}

struct Received {
  std::string_view instance;
  Signal signal;
};

std::optional<Received> parse(std::string_view message) {
  auto const first = message.find('\n');
  if (first == std::string_view::npos) return std::nullopt;
  auto const second = message.find('\n', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return Received{message.substr(0, first),
                  {std::string(message.substr(first + 1, second - first - 1)),
                   std::string(message.substr(second + 1))}};
}

}  // namespace

struct SqliteSignalBus::State {
  State(Env& the_env, Place const& place, std::string of)
      : env(the_env),
        instance(std::move(of)),
        inbox(fmt::format("{}-{:016x}", ::getpid(), the_env.random())),
        folder(the_env, place) {}

  [[nodiscard]] std::string message(Signal const& signal) const {
    return fmt::format("{}\n{}\n{}", instance, signal.topic, signal.text);
  }

  void receive(int fd) {
    std::array<char, max_message> buffer{};
    for (int i = 0; i < max_received; ++i) {
      auto const size = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (size < 0) {
        drained();
        return;
      }
      ++received_in_a_row;
      auto const received = parse({buffer.data(), static_cast<std::size_t>(size)});
      if (received && received->instance == instance) handlers.dispatch(received->signal);
    }
  }

  /// Nothing more is there. If the kernel's queue was full meanwhile, some found no room in it.
  void drained() {
    if (std::exchange(received_in_a_row, 0) <= queue_length) return;
    handlers.dispatch({std::string(topic::offer), ""});
  }

  Env& env;
  std::string const instance;
  std::string const inbox;
  InboxFolder folder;
  SignalHandlers handlers;

  std::mutex listen_mutex;
  std::unique_ptr<Readable> socket;
  std::atomic<bool> listens{false};
  int queue_length = 0;       ///< set before the first message comes
  int received_in_a_row = 0;  ///< on the executor only
};

SqliteSignalBus::SqliteSignalBus(Env& env, StoreFile& file, Place const& place,
                                 std::string instance)
    : state_(std::make_shared<State>(env, place, std::move(instance))), file_(file) {}

SqliteSignalBus::~SqliteSignalBus() {
  std::unique_ptr<Readable> socket;
  {
    std::scoped_lock const lock(state_->listen_mutex);
    socket = std::move(state_->socket);
  }
  if (socket) state_->folder.remove(state_->inbox);
}

std::string const& SqliteSignalBus::inbox() const { return state_->inbox; }

void SqliteSignalBus::listen() {
  std::scoped_lock const lock(state_->listen_mutex);
  if (state_->socket) return;
  file_.watch();  // first: with the store's folder gone there is no place for a socket
  int const fd = state_->folder.bind(state_->inbox);
  state_->queue_length = kernel_queue_length();
  state_->listens = true;
  state_->socket = std::make_unique<Readable>(state_->env.executor(), fd,
                                              [state = state_.get(), fd] { state->receive(fd); });
  state_->folder.sweep(max_swept);
}

bool SqliteSignalBus::listening() const { return state_->listens; }

/// What is for ourselves does not go through the kernel, whose queue is short.
Delivery SqliteSignalBus::send(std::string_view inbox, Signal const& signal) {
  if (inbox == state_->inbox && state_->listens) {
    asio::post(state_->env.executor(), [weak = std::weak_ptr(state_), signal] {
      if (auto const state = weak.lock()) state->handlers.dispatch(signal);
    });
    return Delivery::sent;
  }
  return state_->folder.send(inbox, state_->message(signal));
}

void SqliteSignalBus::publish(Signal const& signal) {
  auto const message = state_->message(signal);
  for (auto const& inbox : state_->folder.names(max_inboxes)) {
    state_->folder.send(inbox, message);
  }
}

SignalBus::Subscription SqliteSignalBus::subscribe(std::string topic, Handler handler) {
  return state_->handlers.subscribe(std::move(topic), std::move(handler));
}

void SqliteSignalBus::unsubscribe(Subscription subscription) {
  state_->handlers.unsubscribe(subscription);
}

}  // namespace holt::sqlite
