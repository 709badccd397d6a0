// SPDX-License-Identifier: Apache-2.0
// A service whose replicas elect one of them, which works while it leads. Its work has stopped
// before another replica leads, however the leadership ends: on SIGTERM or Ctrl-C, when an operator
// asks it to resign, or when it has lost the store. If it is killed, the next leads when its ttl is
// over.
//
//   scheduler FOLDER ID       start it twice, in two terminals; then stop the first, or
//   holt election resign scheduler --store FOLDER/holt.db

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

/// False when it is time to stop.
bool pause(std::stop_token const& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

/// What only the leader does. `stop` fires when the term ends.
void work(holt::Fence term, std::stop_token stop) {
  std::cout << "works in term " << term.decimal() << std::endl;
  while (pause(stop, 50ms)) {
    // One round of work goes here: short against the ttl, and with the term in every write, so that
    // the resource can refuse a leader of the past.
  }
  std::cout << "has stopped its work" << std::endl;
}

void serve(std::string const& folder, std::string const& id) {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);  // for the library's threads too

  auto holt = holt::open(folder + "/holt.db");
  std::thread working;
  auto election = holt.election("scheduler", {.id = id, .ttl = 2s});
  auto const on_event = [&working](holt::ElectionEvent const& event) {
    if (event.kind == holt::ElectionEventKind::leadership_acquired) {
      working = std::thread(work, event.term, event.stop);
    }
    if (event.kind == holt::ElectionEventKind::leadership_lost) working.join();
  };
  // In turn: nobody else leads before the listener has returned, which waits for the work's end.
  election.on(on_event, holt::Election::Listen::in_turn);
  election.start();
  std::cout << "stands as " << election.id() << std::endl;

  int signal = 0;
  sigwait(&ending, &signal);
  auto const how = election.stop();  // first the work, then the leadership
  std::cout << (how == holt::Resignation::late ? "stopped too late" : "stopped") << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw std::runtime_error("usage: scheduler FOLDER ID");
    serve(argv[1], argv[2]);
  } catch (std::exception const& error) {
    std::cerr << "scheduler: " << error.what() << '\n';
    return 1;
  }
}
