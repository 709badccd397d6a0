// SPDX-License-Identifier: Apache-2.0
// One of many processes is in charge: it holds a lock for as long as it lives, and works only while
// the lock is held. The others stand in line. On SIGTERM or Ctrl-C it lets go, and the next one
// takes over at once; if it is killed, when its ttl has ended.
//
//   singleton FOLDER          start it twice, in two terminals; then stop the first

#include <holt/holt.hpp>

#include <signal.h>

#include <condition_variable>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

/// Blocks the signals for all threads that start later, and turns the first one into a stop. Its
/// thread ends then, or with the process.
class StopOnSignal {
 public:
  StopOnSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    std::thread([signals = signals_, stop = stop_]() mutable {
      int signal = 0;
      sigwait(&signals, &signal);
      stop.request_stop();
    }).detach();
  }
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  sigset_t signals_{};
  std::stop_source stop_;
};

/// False when it is time to stop.
bool pause(std::stop_token const& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

/// In charge until the lock is lost or somebody asks us to stop.
void lead(holt::Lock const& lock, std::stop_token const& stop) {
  std::cout << "in charge, fence " << lock.fence().decimal() << '\n' << std::flush;
  while (lock.held()) {
    // One round of work goes here: short against the ttl, and with the fence in every write.
    if (!pause(stop, 50ms)) return;
  }
  std::cout << "lost: " << to_string(lock.loss()) << '\n' << std::flush;
}

void serve(std::string const& folder) {
  StopOnSignal const signals;  // before the library starts its threads
  auto holt = holt::open(folder + "/holt.db");
  while (!signals.token().stop_requested()) {
    std::cout << "waiting\n" << std::flush;
    auto lock = holt.lock("in-charge", {.ttl = 5s, .wait = holt::wait_forever}, signals.token());
    if (lock) lead(*lock, signals.token());
  }  // the lock is released here
  std::cout << "stopped\n" << std::flush;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: singleton FOLDER");
    serve(argv[1]);
  } catch (std::exception const& error) {
    std::cerr << "singleton: " << error.what() << '\n';
    return 1;
  }
}
