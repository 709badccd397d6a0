// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/sentinel.hpp"

#include "engines/redis/errors.hpp"
#include "engines/redis/reply.hpp"
#include "engines/redis/socket.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace holt::redis {
namespace {

using boost::system::error_code;

constexpr std::chrono::seconds patience{1};

std::exception_ptr as_exception(error_code const& error) {
  return error ? std::make_exception_ptr(broken(error, "connect")) : nullptr;
}

/// One question to all, until it is decided.
struct Poll {
  using Done = std::move_only_function<void(std::exception_ptr, Endpoint)>;
  struct Votes {
    Endpoint master;
    std::size_t count = 0;
  };

  std::size_t majority = 0;
  std::size_t open = 0;  ///< how many have not answered
  std::vector<Votes> votes;
  std::string troubles;  ///< of those that name none
  Done done;             ///< empty: decided

  void take(Endpoint const& master);
  void take(Endpoint const& from, std::string_view trouble);
  void decide(bool over, Place const& place);
};

void Poll::take(Endpoint const& master) {
  --open;
  auto const found = std::ranges::find(votes, master, &Votes::master);
  if (found == votes.end()) {
    votes.push_back({master, 1});
  } else {
    ++found->count;
  }
}

void Poll::take(Endpoint const& from, std::string_view trouble) {
  --open;
  troubles += fmt::format("{}{}: {}", troubles.empty() ? "" : "; ", to_string(from), trouble);
}

/// `over`: nobody is waited for any more.
void Poll::decide(bool over, Place const& place) {
  if (!done) return;
  for (auto const& each : votes) {
    if (each.count < majority) continue;
    std::exchange(done, nullptr)(nullptr, each.master);
    return;
  }
  if (!over && open > 0) return;
  for (auto const& each : votes) {
    troubles += fmt::format("{}{} for {}", troubles.empty() ? "" : "; ", each.count,
                            to_string(each.master));
  }
  if (open > 0) {
    troubles += fmt::format("{}{} silent", troubles.empty() ? "" : "; ", open);
  }
  auto const error =
      failed(ErrorCode::service_unavailable, Outcome::not_applied, "connect",
             fmt::format("no majority of {} Sentinels names a master of \"{}\" ({})",
                         place.sentinels.size(), place.service, troubles),
             "are the Sentinels up, is the service's name right, or is a failover under way?");
  std::exchange(done, nullptr)(std::make_exception_ptr(error), Endpoint());
}

}  // namespace

struct Sentinels::State : std::enable_shared_from_this<State> {
  /// The connection to one of them.
  struct Line {
    Endpoint at;
    std::shared_ptr<Socket> socket;  ///< null: none
    ReplyReader reader;
    bool asked = false;  ///< it has not answered yet
  };

  State(Env& of, Place const& where) : env(of), place(where) {
    for (auto const& each : place.sentinels) lines.emplace_back().at = each;
  }

  void start(std::shared_ptr<Poll> poll);
  void give_up(Poll& poll);
  void hang_up(Line& line);
  asio::awaitable<void> ask(std::size_t number, std::shared_ptr<Poll> poll);
  asio::awaitable<Endpoint> master_named_by(std::size_t number);
  asio::awaitable<void> connect(std::size_t number);
  asio::awaitable<Reply> exchange(std::size_t number, std::string bytes);

  Env& env;
  Place const place;
  std::vector<Line> lines;
};

void Sentinels::State::hang_up(Line& line) {
  if (line.socket) line.socket->close();
  line.socket.reset();
}

void Sentinels::State::start(std::shared_ptr<Poll> poll) {
  poll->majority = lines.size() / 2 + 1;
  poll->open = lines.size();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (std::exchange(lines[i].asked, true)) {
      poll->take(lines[i].at, "still asked");
      continue;
    }
    asio::co_spawn(env.executor(), ask(i, poll),
                   [self = shared_from_this()](std::exception_ptr) {});
  }
  env.call_at(env.now() + patience, [weak = weak_from_this(), poll] {
    auto const self = weak.lock();
    if (self && poll->open > 0) self->give_up(*poll);
  });
  poll->decide(false, place);
}

/// Whoever has not answered yet is not waited for; its connection is not worth keeping.
void Sentinels::State::give_up(Poll& poll) {
  poll.decide(true, place);
  for (auto& line : lines) {
    if (line.asked) hang_up(line);
  }
}

asio::awaitable<void> Sentinels::State::ask(std::size_t number, std::shared_ptr<Poll> poll) {
  std::optional<Endpoint> named;
  std::string trouble;
  try {
    named = co_await master_named_by(number);
  } catch (EngineError const& error) {
    trouble = error.reason();
  } catch (std::exception const& error) {
    trouble = error.what();
  }
  auto& line = lines[number];
  line.asked = false;
  if (named) {
    poll->take(*named);
  } else {
    hang_up(line);
    poll->take(line.at, trouble);
  }
  poll->decide(false, place);
}

asio::awaitable<Endpoint> Sentinels::State::master_named_by(std::size_t number) {
  auto const question = command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", place.service);
  std::optional<Reply> reply;
  if (lines[number].socket) {
    try {
      reply = co_await exchange(number, question);
    } catch (EngineError const&) {
      hang_up(lines[number]);  // it was closed since the last time: once more
    }
  }
  if (!reply) {
    co_await connect(number);
    reply = co_await exchange(number, question);
  }
  auto const& answer = **reply;
  if (answer.is_error()) throw refused("connect", answer.text());
  if (!answer.is_array() || answer.size() != 2) {
    throw failed(ErrorCode::service_unavailable, Outcome::not_applied, "connect",
                 "does not know this service");
  }
  Endpoint master;
  master.host = answer[0].text();
  auto const port = answer[1].text();
  std::from_chars(port.data(), port.data() + port.size(), master.port);
  co_return master;
}

asio::awaitable<void> Sentinels::State::connect(std::size_t number) {
  auto where = Place();
  where.host = lines[number].at.host;
  where.port = lines[number].at.port;
  where.tls = place.tls;
  auto const made = std::make_shared<Socket>(env.executor());
  lines[number].socket = made;
  lines[number].reader = ReplyReader();
  co_await made->connect(std::move(where));
  if (place.sentinel.password.empty()) co_return;
  auto const hello = place.sentinel.user.empty()
                         ? command("AUTH", place.sentinel.password)
                         : command("AUTH", place.sentinel.user, place.sentinel.password);
  Reply const reply = co_await exchange(number, hello);
  if (reply->is_error()) throw refused("connect", reply->text());
}

asio::awaitable<Reply> Sentinels::State::exchange(std::size_t number, std::string bytes) {
  auto const socket = lines[number].socket;
  if (!socket) {
    throw failed(ErrorCode::network_timeout, Outcome::not_applied, "connect", "no answer in time");
  }
  auto write = [](auto handler, Socket* to, std::string const* text) {
    to->write(*text, [handler = std::move(handler)](error_code error) mutable {
      std::move(handler)(as_exception(error));
    });
  };
  co_await asio::async_initiate<asio::use_awaitable_t<> const, void(std::exception_ptr)>(
      write, asio::use_awaitable, socket.get(), &bytes);
  auto read = [](auto handler, Socket* from, asio::mutable_buffer into) {
    from->read_some(into,
                    [handler = std::move(handler)](error_code error, std::size_t size) mutable {
                      std::move(handler)(as_exception(error), size);
                    });
  };
  std::array<char, 1024> received{};
  auto& reader = lines[number].reader;
  for (;;) {
    auto reply = reader.next();
    if (reply) co_return std::move(*reply);
    std::size_t const size = co_await asio::async_initiate<asio::use_awaitable_t<> const,
                                                           void(std::exception_ptr, std::size_t)>(
        read, asio::use_awaitable, socket.get(), asio::buffer(received));
    reader.feed({received.data(), size});
  }
}

Sentinels::Sentinels(Env& env, Place const& place) : state_(std::make_shared<State>(env, place)) {}

asio::awaitable<Endpoint> Sentinels::master() {
  auto initiate = [](auto handler, State* state) {
    auto poll = std::make_shared<Poll>();
    poll->done = [handler = std::move(handler)](std::exception_ptr error, Endpoint master) mutable {
      std::move(handler)(std::move(error), std::move(master));
    };
    state->start(std::move(poll));
  };
  return asio::async_initiate<asio::use_awaitable_t<> const, void(std::exception_ptr, Endpoint)>(
      initiate, asio::use_awaitable, state_.get());
}

void Sentinels::hang_up() {
  for (auto& line : state_->lines) {
    if (!line.asked) state_->hang_up(line);
  }
}

}  // namespace holt::redis
