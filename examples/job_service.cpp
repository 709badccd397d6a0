// SPDX-License-Identifier: Apache-2.0
// A service of coroutines. Clients connect and send one line, `JOB STEPS`; whichever replica they
// reach, a job is done by one of them at a time, and the others wait for it. A client that goes
// away takes its place in line with it. On SIGTERM or Ctrl-C all locks are released before the end;
// if a replica is killed, the next one goes on when the ttl is over.
//
//   job_service FOLDER          start it twice, then talk to both: nc 127.0.0.1 PORT

#include <holt/asio.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <sqlite3.h>

#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

/// What the jobs work on. A write carries the fence of its lock, and a lower one than the last is
/// refused in the same statement. (A call here takes microseconds; put a slow one on a thread
/// pool.)
class Ledger {
 public:
  explicit Ledger(std::string const& file) {
    sqlite3* opened = nullptr;
    int const result = sqlite3_open(file.c_str(), &opened);
    store_.reset(opened);
    if (result != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(opened));
    sqlite3_busy_timeout(opened, 1000);
    run("CREATE TABLE IF NOT EXISTS job (name TEXT PRIMARY KEY, step INTEGER, fence INTEGER)");
  }

  /// False: a later holder has been here.
  bool write(std::string const& job, int step, holt::Fence fence) {
    auto const values = "('" + job + "', " + std::to_string(step) + ", " + fence.decimal() + ")";
    run("INSERT INTO job VALUES " + values +
        " ON CONFLICT (name) DO UPDATE SET step = excluded.step, fence = excluded.fence"
        " WHERE job.fence <= excluded.fence");
    return sqlite3_changes(store_.get()) == 1;
  }

 private:
  void run(std::string const& sql) {
    if (sqlite3_exec(store_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sqlite3_errmsg(store_.get()));
    }
  }

  std::unique_ptr<sqlite3, int (*)(sqlite3*)> store_{nullptr, sqlite3_close};
};

/// One thread runs all of it, so nothing here needs a mutex.
struct Service {
  holt::AsyncHolt holt;
  Ledger ledger;
  asio::steady_timer stop;  // rings when the service has to stop, for all who wait or come later
};

awaitable<void> say(tcp::socket& client, std::string text) {
  text += '\n';
  co_await asio::async_write(client, asio::buffer(text), use_awaitable);
}

/// Answers what to tell the client. It may be cancelled at any co_await: in line, that gives the
/// place back; later, an exception leaves here and the guard releases the lock.
awaitable<std::string> do_job(Service& service, tcp::socket& client, std::string job, int steps) {
  auto lock = co_await service.holt.lock("job/" + job, {.ttl = 2s, .wait = 10s});
  if (!lock) co_return "busy, fence " + lock.error().fence.decimal();
  auto const fence = lock->fence();
  co_await say(client, "started, fence " + fence.decimal());
  asio::steady_timer work(client.get_executor());
  for (int step = 1; step <= steps; ++step) {
    work.expires_after(20ms);  // short against the ttl, so that held() is asked often
    co_await work.async_wait(use_awaitable);
    if (!lock->held()) co_return "lost: " + std::string(to_string(lock->loss()));
    if (!service.ledger.write(job, step, fence)) co_return "refused: a later holder was here";
  }
  auto const released = co_await service.holt.release(*lock);  // does not block; the guard might
  if (!released) co_return "done, and the lock was lost after the last write";
  co_return "done, fence " + fence.decimal();
}

/// The same for a line, and with what failed as an answer: `||` below waits for one that succeeds.
awaitable<std::string> answer(Service& service, tcp::socket& client, std::string const& line) {
  std::istringstream words(line);
  std::string job;
  int steps = 0;
  words >> job >> steps;
  bool const plain = job.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos;
  if (!words || !plain) co_return "a request is: JOB STEPS, the job in a-z";
  try {
    std::string text = co_await do_job(service, client, job, steps);
    co_return text;
  } catch (std::exception const& error) {  // or cancelled: then this answer is not used
    co_return std::string("failed: ") + error.what();
  }
}

awaitable<void> until_gone(tcp::socket& client) {
  boost::system::error_code closed;
  char ignored = 0;
  while (!closed) {
    co_await client.async_read_some(asio::buffer(&ignored, 1),
                                    asio::redirect_error(use_awaitable, closed));
  }
}

awaitable<void> until_stopped(Service& service) {
  boost::system::error_code rung;  // by expires_at(), or by the clock
  co_await service.stop.async_wait(asio::redirect_error(use_awaitable, rung));
}

/// The first of three that comes: the answer, the client's end, ours. It cancels the other two.
awaitable<void> serve(Service& service, tcp::socket client) {
  using namespace asio::experimental::awaitable_operators;
  std::string line;
  auto read = asio::async_read_until(client, asio::dynamic_buffer(line, 200), '\n', use_awaitable);
  auto const got = co_await (std::move(read) || until_stopped(service));
  if (got.index() != 0) co_return;
  auto const ended =
      co_await (answer(service, client, line) || until_gone(client) || until_stopped(service));
  if (ended.index() == 0) co_await say(client, std::get<0>(ended));
  if (ended.index() == 2) co_await say(client, "stopped");
}

awaitable<void> accept(Service& service, tcp::acceptor& acceptor) {
  for (;;) {
    auto client = co_await acceptor.async_accept(use_awaitable);
    // A client that breaks its connection in the middle of a word harms nobody but itself.
    asio::co_spawn(acceptor.get_executor(), serve(service, std::move(client)),
                   [](std::exception_ptr const&) {});
  }
}

void run(std::string const& folder) {
  asio::io_context loop(1);
  Service service{holt::AsyncHolt(holt::open(folder + "/holt.db")), Ledger(folder + "/ledger.db"),
                  asio::steady_timer(loop, asio::steady_timer::time_point::max())};
  tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});
  asio::signal_set signals(loop, SIGTERM, SIGINT);
  signals.async_wait([&](boost::system::error_code, int) {
    acceptor.close();                                                // ends accept()
    service.stop.expires_at(asio::steady_timer::time_point::min());  // ends every serve()
  });
  asio::co_spawn(loop, accept(service, acceptor), [](std::exception_ptr const&) {});
  std::cout << "listening on " << acceptor.local_endpoint().port() << '\n' << std::flush;
  loop.run();  // until the last coroutine is done
  service.holt.blocking().close();
  std::cout << "stopped\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: job_service FOLDER");
    run(argv[1]);
  } catch (std::exception const& error) {
    std::cerr << "job_service: " << error.what() << '\n';
    return 1;
  }
}
