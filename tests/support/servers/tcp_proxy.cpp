// SPDX-License-Identifier: Apache-2.0
#include "support/servers/tcp_proxy.hpp"

#include "support/servers/proxy_stream.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace holt::test {
namespace {

std::system_error failed(std::string const& what) {
  return {errno, std::generic_category(), "proxy: cannot " + what};
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int tcp_socket() {
  int const made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) throw failed("make a socket");
  return made;
}

/// Throws PortTaken when another program was faster.
int listen_at(std::uint16_t port) {
  int const listener = tcp_socket();
  int const yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  auto const address = loopback(port);
  if (::bind(listener, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0 &&
      ::listen(listener, 1024) == 0) {
    return listener;
  }
  auto const error = failed("listen at port " + std::to_string(port));
  ::close(listener);
  throw PortTaken(error.what());
}

void send_at_once(int socket) {
  int const yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/// -1: refused.
int connect_to(std::uint16_t port) {
  int const made = tcp_socket();
  send_at_once(made);
  auto const address = loopback(port);
  if (::connect(made, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0 ||
      errno == EINPROGRESS) {
    return made;
  }
  ::close(made);
  return -1;
}

constexpr std::size_t index(Way way) { return way == Way::to_server ? 0 : 1; }

}  // namespace

/// All state belongs to its thread; call() has a function run there.
class TcpProxy::Loop {
 public:
  struct Connection {
    Connection(std::uint64_t number_, int client_, int server_)
        : number(number_),
          client(client_),
          server(server_),
          streams{ProxyStream(client, server), ProxyStream(server, client)} {}
    std::uint64_t number;
    int client;
    int server;  ///< -1: behind a black hole there is none
    std::array<ProxyStream, 2> streams;
  };

  Loop(std::uint16_t port, std::uint16_t server_port)
      : port_(port), server_port_(server_port), listener_(listen_at(port)) {
    wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread_ = std::thread([this] { run(); });
  }

  /// Runs `work` on the thread and answers what it answers.
  template <class Work>
  auto call(Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    {
      std::scoped_lock const guard(mutex_);
      tasks_.emplace_back([task = std::move(task)]() mutable { task(); });
    }
    std::uint64_t const one = 1;
    [[maybe_unused]] auto const told = ::write(wake_, &one, sizeof one);
    return result.get();
  }

  ~Loop() {
    call([this] { stopping_ = true; });
    thread_.join();
    cut_all();
    stop_listening();
    ::close(wake_);
  }
  Loop(Loop const&) = delete;
  Loop& operator=(Loop const&) = delete;

  // On the thread. --------------------------------------------------------------------------------

  ProxyRules& rules(Way way) { return rules_.at(index(way)); }

  void pass() {
    rules_ = {};
    black_hole = false;
    for (auto it = open_.begin(); it != open_.end();) {
      auto const connection = it++;
      if (connection->server < 0) end(connection);
    }
    if (listener_ < 0) listener_ = listen_at(port_);
  }

  void stop_listening() {
    if (listener_ >= 0) ::close(std::exchange(listener_, -1));
  }

  void cut_all() {
    while (!open_.empty()) end(open_.begin());
  }

  void set_server(std::uint16_t server_port) { server_port_ = server_port; }

  [[nodiscard]] std::vector<std::string> recorded(Way way) const {
    std::map<std::uint64_t, std::string> texts;
    for (auto const& [number, both] : past_) texts.emplace(number, both.at(index(way)));
    for (auto const& connection : open_) {
      texts.emplace(connection.number, connection.streams.at(index(way)).recorded);
    }
    std::vector<std::string> result;
    for (auto& [number, text] : texts) result.push_back(std::move(text));
    return result;
  }

  void forget() {
    past_.clear();
    bytes = {};
    accepted = cuts = 0;
    for (auto& connection : open_) {
      for (auto& stream : connection.streams) stream.recorded.clear();
    }
  }

  [[nodiscard]] std::uint64_t open_count() const { return open_.size(); }

  bool black_hole = false;
  std::uint64_t accepted = 0;
  std::uint64_t cuts = 0;
  std::array<std::uint64_t, 2> bytes{};

 private:
  using Connections = std::list<Connection>;

  void run() {
    while (!stopping_) {
      wait();
      accept_all();  // first: for its client a connection is open before we have accepted it
      do_tasks();
      for (auto it = open_.begin(); it != open_.end();) serve(it++);
    }
  }

  void wait() {
    std::vector<pollfd> sockets{{wake_, POLLIN, 0}};
    if (listener_ >= 0) sockets.push_back({listener_, POLLIN, 0});
    auto const now = ProxyClock::now();
    auto until = now + std::chrono::hours(1);
    for (auto const& connection : open_) {
      add(sockets, connection, now);
      for (std::size_t way : {0U, 1U}) {
        auto const due = connection.streams.at(way).due(rules_.at(way));
        if (due && *due > now) until = std::min(until, *due);
      }
    }
    auto const left = std::chrono::nanoseconds(until - now).count();
    timespec const patience{left / 1'000'000'000, left % 1'000'000'000};
    ::ppoll(sockets.data(), sockets.size(), &patience, nullptr);
    std::uint64_t ignored = 0;
    [[maybe_unused]] auto const got = ::read(wake_, &ignored, sizeof ignored);
  }

  void add(std::vector<pollfd>& sockets, Connection const& connection,
           ProxyClock::time_point now) const {
    auto const& [up, down] = connection.streams;
    auto const events = [&](bool reads, bool writes) {
      return static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
    };
    auto const client = events(up.wants_to_read(), down.wants_to_write(rules_[1], now));
    auto const server = events(down.wants_to_read(), up.wants_to_write(rules_[0], now));
    // Without an event poll would still tell of a hang-up, again and again.
    if (client != 0) sockets.push_back({connection.client, client, 0});
    if (server != 0 && connection.server >= 0) sockets.push_back({connection.server, server, 0});
  }

  void do_tasks() {
    std::deque<std::move_only_function<void()>> tasks;
    {
      std::scoped_lock const guard(mutex_);
      tasks.swap(tasks_);
    }
    for (auto& task : tasks) task();
  }

  void accept_all() {
    while (listener_ >= 0) {
      int const client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (client < 0) return;
      send_at_once(client);
      ++accepted;
      int const server = black_hole ? -1 : connect_to(server_port_);
      open_.emplace_back(next_number_++, client, server);
      if (server < 0 && !black_hole) end(std::prev(open_.end()));
    }
  }

  void serve(Connections::iterator connection) {
    auto const now = ProxyClock::now();
    for (std::size_t way : {0U, 1U}) {
      auto& stream = connection->streams.at(way);
      auto& rules = rules_.at(way);
      bool const has_source = way == 0 || connection->server >= 0;
      if (has_source && stream.wants_to_read()) stream.read(rules);
      bytes.at(way) += stream.write(rules, std::max(now, ProxyClock::now()));
      auto const state = stream.state(rules);
      if (state == ProxyStream::State::open) continue;
      if (state == ProxyStream::State::cut) ++cuts;
      end(connection);  // at once: what the other side has answered meanwhile does not get through
      return;
    }
  }

  void end(Connections::iterator connection) {
    ::close(connection->client);
    if (connection->server >= 0) ::close(connection->server);
    auto& [up, down] = connection->streams;
    past_[connection->number] = {std::move(up.recorded), std::move(down.recorded)};
    open_.erase(connection);
  }

  std::uint16_t port_;
  std::uint16_t server_port_;
  int listener_;
  int wake_ = -1;
  bool stopping_ = false;
  std::array<ProxyRules, 2> rules_{};
  Connections open_;
  std::uint64_t next_number_ = 0;
  std::map<std::uint64_t, std::array<std::string, 2>> past_;  ///< recorded, by number

  std::mutex mutex_;
  std::deque<std::move_only_function<void()>> tasks_;
  std::thread thread_;
};

TcpProxy::TcpProxy(std::uint16_t server_port)
    : loop_(on_free_ports([&] {
        port_ = ReservedPort();
        return std::make_unique<Loop>(port_.number(), server_port);
      })) {}

TcpProxy::~TcpProxy() = default;

void TcpProxy::set_server(std::uint16_t server_port) {
  loop_->call([&] { loop_->set_server(server_port); });
}

void TcpProxy::pass() {
  loop_->call([&] { loop_->pass(); });
}

void TcpProxy::cut_before(Way way, std::uint64_t bytes, Count count) {
  loop_->call([&] {
    loop_->rules(way).cut = ProxyRules::Cut{bytes, false, count == Count::per_connection};
  });
}

void TcpProxy::cut_after(Way way, std::uint64_t bytes, Count count) {
  loop_->call([&] {
    loop_->rules(way).cut = ProxyRules::Cut{bytes, true, count == Count::per_connection};
  });
}

void TcpProxy::cut_all() {
  loop_->call([&] { loop_->cut_all(); });
}

void TcpProxy::delay(Way way, std::chrono::nanoseconds by) {
  loop_->call([&] { loop_->rules(way).delay = by; });
}

void TcpProxy::hold(Way way) {
  loop_->call([&] { loop_->rules(way).hold = true; });
}

void TcpProxy::swallow(Way way) {
  loop_->call([&] { loop_->rules(way).swallow = true; });
}

void TcpProxy::black_hole() {
  loop_->call([&] {
    loop_->black_hole = true;
    for (auto const way : {Way::to_server, Way::to_client}) loop_->rules(way).swallow = true;
  });
}

void TcpProxy::refuse() {
  loop_->call([&] { loop_->stop_listening(); });
}

std::uint64_t TcpProxy::connections() const {
  return loop_->call([&] { return loop_->accepted; });
}

std::uint64_t TcpProxy::open_connections() const {
  return loop_->call([&] { return loop_->open_count(); });
}

std::uint64_t TcpProxy::cuts() const {
  return loop_->call([&] { return loop_->cuts; });
}

std::uint64_t TcpProxy::bytes(Way way) const {
  return loop_->call([&] { return loop_->bytes.at(index(way)); });
}

std::vector<std::string> TcpProxy::recorded(Way way) const {
  return loop_->call([&] { return loop_->recorded(way); });
}

void TcpProxy::forget() {
  loop_->call([&] { loop_->forget(); });
}

}  // namespace holt::test
