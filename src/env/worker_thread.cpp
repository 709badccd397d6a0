// SPDX-License-Identifier: Apache-2.0
#include "env/worker_thread.hpp"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace holt {
namespace {

/// A new thread inherits the mask, so it is set around the start.
std::thread start(char const* name, std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread([name, run = std::move(body)] {
      pthread_setname_np(pthread_self(), name);
      run();
    });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

WorkerThread::WorkerThread(char const* name, std::function<void()> body)
    : thread_(start(name, std::move(body))) {}

WorkerThread::~WorkerThread() { thread_.join(); }

void WorkerThread::start_unowned(char const* name, std::function<void()> body) {
  start(name, std::move(body)).detach();
}

}  // namespace holt
