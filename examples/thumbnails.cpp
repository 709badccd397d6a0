// SPDX-License-Identifier: Apache-2.0
// Tasks: one program adds them, any number of workers do them, whatever dies meanwhile. A worker
// writes with its fence, so that an attempt which was given to another meanwhile is refused.
//
//   thumbnails FOLDER work &                     as many as you like; kill -9 one of them
//   thumbnails FOLDER add a.png b.png c.png      adds a task for each, and waits for the results

#include <holt/holt.hpp>

#include <signal.h>

#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

void add(holt::Holt holt, std::vector<std::string> const& pictures) {
  auto queue = holt.queue("thumbnails");
  std::vector<holt::TaskDraft> drafts;
  for (auto const& picture : pictures) drafts.push_back({"shrink", picture, {.timeout = 1min}});
  for (auto const& added : queue.add_many(drafts)) {
    auto const task = queue.wait(added.id);
    if (!task) throw std::runtime_error(added.id.text() + " is not kept any more");
    std::cout << added.id.text() << ' ' << to_string(task->state) << ": " << task->result
              << std::endl;
  }
}

void shrink(holt::Job& job) {
  auto const& picture = job.task().payload;
  if (!picture.ends_with(".png")) throw holt::RejectTask(picture + " is no picture");  // dead
  for (int step = 0; step < 10; ++step) {
    if (job.stop().stop_requested()) throw std::runtime_error("was told to stop");
    job.progress(std::to_string(step * 10) + " %");
    std::this_thread::sleep_for(10ms);  // the work goes here
  }
  job.result("small-" + picture + " with fence " + job.fence().decimal());
}

void work(holt::Holt holt, sigset_t const& ending) {
  auto worker = holt.worker({.queue = "thumbnails", .concurrency = 4, .ttl = 2s});
  worker.handle("shrink", shrink);
  worker.start();
  std::cout << "works" << std::endl;
  int signal = 0;
  sigwait(&ending, &signal);
  bool const all = worker.stop();  // handlers come to their ends, the rest goes back
  std::cout << (all ? "stopped" : "stopped too late") << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> const words(argv + 1, argv + argc);
    bool const adds = words.size() > 2 && words[1] == "add";
    bool const works = words.size() == 2 && words[1] == "work";
    if (!adds && !works) throw std::runtime_error("usage: thumbnails FOLDER work | add PICTURE...");
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    if (works) pthread_sigmask(SIG_BLOCK, &ending, nullptr);  // for the library's threads too
    auto holt = holt::open(words[0] + "/holt.db");
    if (works) {
      work(std::move(holt), ending);
    } else {
      add(std::move(holt), {words.begin() + 2, words.end()});
    }
    return 0;
  } catch (std::exception const& error) {
    std::cerr << "thumbnails: " << error.what() << '\n';
    return 1;
  }
}
