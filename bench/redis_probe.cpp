// SPDX-License-Identifier: Apache-2.0
// The ceiling that the Redis engine is measured against: the same scripts, one connection, one
// thread, and nothing else. N workers on names of their own acquire and release in turn; what they
// send in one round goes out in one write. No code of Holt is in it. redis_ceiling.hpp has
// another ceiling, by redis-benchmark.
//
// redis_probe PORT N SECONDS ACQUIRE.lua KEYS ARGS RELEASE.lua KEYS ARGS
// KEYS and ARGS are words between spaces, in which %n is the worker's name, %h one of 64 shards in
// hex, %o its owner (new for each pair), %s a space and %e nothing. With - for a script they are a
// command themselves. Prints one line of JSON; on
// stderr what the first acquire was answered, to see that it was granted.

#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Worker {
  std::string name;
  std::string shard = "00";
  std::string owner;
  Clock::time_point began;
  bool holds = false;
};

std::string bulk(std::string const& word) {
  return "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
}

class Connection {
 public:
  using Reply = std::unique_ptr<redisReply, void (*)(void*)>;

  explicit Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int const yes = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("cannot connect to port " + std::to_string(port));
    }
  }

  void write(std::string const& text) const {
    for (std::size_t done = 0; done < text.size();) {
      auto const put = ::send(socket_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (put <= 0) throw std::runtime_error("the connection broke");
      done += static_cast<std::size_t>(put);
    }
  }
  /// Waits for bytes.
  void read() {
    auto const got = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    if (got <= 0) throw std::runtime_error("the connection broke");
    redisReaderFeed(reader_.get(), buffer_.data(), static_cast<std::size_t>(got));
  }
  /// The next whole reply that was read, or none.
  Reply reply() {
    void* found = nullptr;
    if (redisReaderGetReply(reader_.get(), &found) != REDIS_OK) throw std::runtime_error("no RESP");
    Reply owner(static_cast<redisReply*>(found), freeReplyObject);
    if (owner && owner->type == REDIS_REPLY_ERROR) throw std::runtime_error(owner->str);
    return owner;
  }

 private:
  int socket_;
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader_{redisReaderCreate(),
                                                               redisReaderFree};
  std::vector<char> buffer_ = std::vector<char>(1 << 18);
};

/// One script with the patterns of its keys and arguments.
class Script {
 public:
  Script(Connection& connection, char const* path, std::string const& keys,
         std::string const& arguments) {
    std::istringstream words(keys + " " + arguments);
    words_.assign(std::istream_iterator<std::string>(words), {});
    if (std::string_view(path) == "-") {
      start_ = "*" + std::to_string(words_.size()) + "\r\n";
      return;
    }
    std::ifstream file(path);
    if (!file) throw std::runtime_error(std::string("cannot read ") + path);
    std::string const text(std::istreambuf_iterator<char>(file), {});
    connection.write("*3\r\n" + bulk("SCRIPT") + bulk("LOAD") + bulk(text));
    Connection::Reply sha(nullptr, freeReplyObject);
    while (!(sha = connection.reply())) connection.read();
    std::istringstream counted(keys);
    auto const key_count = std::distance(std::istream_iterator<std::string>(counted), {});
    start_ = "*" + std::to_string(words_.size() + 3) + "\r\n" + bulk("EVALSHA") + bulk(sha->str) +
             bulk(std::to_string(key_count));
  }

  void append_call(std::string& out, Worker const& worker) {
    out += start_;
    for (auto const& word : words_) {
      filled_.clear();
      for (std::size_t i = 0; i < word.size(); ++i) {
        if (word[i] != '%' || ++i == word.size()) {
          filled_ += word[i == word.size() ? i - 1 : i];
        } else {
          filled_ += meaning(word[i], worker);
        }
      }
      out += bulk(filled_);
    }
  }

 private:
  static std::string_view meaning(char letter, Worker const& worker) {
    switch (letter) {
      case 'n':
        return worker.name;
      case 'h':
        return worker.shard;
      case 'o':
        return worker.owner;
      case 's':
        return " ";
      default:
        return "";
    }
  }

  std::string start_;
  std::vector<std::string> words_;
  std::string filled_;
};

/// The first number in a reply, as text.
std::string first_number(redisReply const& reply) {
  if (reply.type == REDIS_REPLY_INTEGER) return std::to_string(reply.integer);
  if (reply.type == REDIS_REPLY_STRING || reply.type == REDIS_REPLY_STATUS) return reply.str;
  return reply.elements == 0 ? "" : first_number(*reply.element[0]);
}

class Probe {
 public:
  explicit Probe(char** given)
      : connection_(std::atoi(given[1])),
        acquire_(connection_, given[4], given[5], given[6]),
        release_(connection_, given[7], given[8], given[9]),
        workers_(std::stoul(given[2])) {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      workers_[i].name = "p" + std::to_string(::getpid()) + "-" + std::to_string(i);
      std::snprintf(workers_[i].shard.data(), 3, "%02zx", i % 64);
      begin(workers_[i]);
    }
  }

  /// Lets them work and answers how long each pair took, in µs.
  std::vector<double> run(double seconds) {
    std::vector<double> times;
    auto const until = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < until) turn(times);
    return times;
  }
  /// How many pairs were begun.
  [[nodiscard]] std::size_t pairs() const { return pairs_; }
  /// Lets them release what they hold.
  void end() {
    ending_ = true;
    std::vector<double> times;
    while (!waiting_.empty()) turn(times);
  }

 private:
  void turn(std::vector<double>& times) {
    connection_.write(out_);
    out_.clear();
    connection_.read();
    while (auto reply = connection_.reply()) {
      auto& worker = *waiting_.front();
      waiting_.pop_front();
      answered(worker, *reply, times);
    }
  }
  void begin(Worker& worker) {
    worker.owner = worker.name + "-" + std::to_string(++pairs_);
    worker.began = Clock::now();
    send(worker, acquire_);
  }
  void send(Worker& worker, Script& script) {
    script.append_call(out_, worker);
    waiting_.push_back(&worker);
  }
  void answered(Worker& worker, redisReply const& reply, std::vector<double>& times) {
    if (told_++ < 1) std::fprintf(stderr, "acquire answered %s\n", first_number(reply).c_str());
    worker.holds = !worker.holds;
    if (worker.holds) {
      send(worker, release_);
      return;
    }
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - worker.began).count());
    if (!ending_) begin(worker);
  }

  Connection connection_;
  Script acquire_;
  Script release_;
  std::vector<Worker> workers_;
  std::deque<Worker*> waiting_;  ///< in the order of their replies
  std::string out_;
  std::size_t pairs_ = 0;
  bool ending_ = false;
  int told_ = 0;
};

double cpu_us() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  auto const micros = [](timeval const& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return micros(used.ru_utime) + micros(used.ru_stime);
}

void measure(char** given) {
  double const seconds = std::atof(given[3]);
  Probe probe(given);
  probe.run(seconds / 10);  // to warm up
  auto const cpu = cpu_us();
  auto const start = Clock::now();
  auto times = probe.run(seconds);
  auto const took = std::chrono::duration<double>(Clock::now() - start).count();
  auto const used = cpu_us() - cpu;
  probe.end();
  if (times.empty()) throw std::runtime_error("no pair came to its end");
  std::ranges::sort(times);
  auto const count = static_cast<double>(times.size());
  std::printf(
      "{\"peer\": \"probe\", \"concurrency\": %s, \"pairs_per_s\": %.0f, \"p50_us\": %.1f, "
      "\"p99_us\": %.1f, \"cpu_us_per_pair\": %.2f, \"pairs\": %zu}\n",
      given[2], count / took, times[times.size() / 2], times[times.size() * 99 / 100], used / count,
      probe.pairs());
}

}  // namespace

int main(int count, char** given) {
  if (count != 10) {
    std::fputs("usage: redis_probe PORT N SECONDS ACQUIRE.lua KEYS ARGS RELEASE.lua KEYS ARGS\n",
               stderr);
    return 2;
  }
  try {
    measure(given);
    return 0;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "redis_probe: %s\n", error.what());
    return 1;
  }
}
