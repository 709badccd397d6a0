// SPDX-License-Identifier: Apache-2.0
#include "support/servers/spawn.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>

extern char** environ;

namespace holt::test {
namespace {

struct Account {
  uid_t user;
  gid_t group;
  std::vector<gid_t> groups;
};

Account account_of(std::string const& user) {
  errno = 0;
  passwd const* entry = ::getpwnam(user.c_str());
  if (entry == nullptr) throw std::runtime_error("there is no user '" + user + "'");
  Account account{entry->pw_uid, entry->pw_gid, {}};
  int count = 64;
  account.groups.resize(64);
  if (::getgrouplist(user.c_str(), account.group, account.groups.data(), &count) < 0) {
    throw std::runtime_error("user '" + user + "' is in too many groups");
  }
  account.groups.resize(static_cast<std::size_t>(count));
  return account;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Ours, with `added` in place of what has the same name.
std::vector<std::string> environment_with(
    std::vector<std::pair<std::string, std::string>> const& added) {
  std::vector<std::string> result;
  for (auto const& [name, value] : added) {
    result.push_back(name);
    result.back() += "=" + value;
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    std::string const text(*variable);
    bool replaced = false;
    for (auto const& [name, value] : added) replaced |= text.starts_with(name + "=");
    if (!replaced) result.push_back(text);
  }
  return result;
}

/// The child's side. All that it needs was made before the fork: another thread of the parent may
/// have held any lock at that moment, so nothing here may allocate.
class ChildSide {
 public:
  ChildSide(SpawnPlan const& plan, int output, int complaints)
      : plan_(plan),
        words_(plan.command),
        variables_(environment_with(plan.environment)),
        arguments_(pointers(words_)),
        environment_(pointers(variables_)),
        output_(output),
        complaints_(complaints),
        parent_(::getpid()) {
    if (!plan.user.empty()) account_ = account_of(plan.user);
  }

  [[noreturn]] void run() {
    become();
    int const reason = errno;
    [[maybe_unused]] auto const told = ::write(complaints_, &reason, sizeof reason);
    ::_exit(127);
  }

 private:
  /// Returns only when something fails.
  void become() {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    if (::setpgid(0, 0) != 0 || ::chdir(plan_.folder.c_str()) != 0) return;
    int const input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input < 0 || ::dup2(input, 0) < 0 || ::dup2(output_, 1) < 0 || ::dup2(output_, 2) < 0) {
      return;
    }
    if (!drop_privileges()) return;
    // After the change of user, which would take it back.
    if (::prctl(PR_SET_PDEATHSIG, plan_.death_signal) != 0) return;
    if (::getppid() != parent_) ::_exit(127);  // too late to be told
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    ::execvpe(arguments_[0], arguments_.data(), environment_.data());
  }

  bool drop_privileges() {
    if (!account_) return true;
    return ::setgroups(account_->groups.size(), account_->groups.data()) == 0 &&
           ::setgid(account_->group) == 0 && ::setuid(account_->user) == 0;
  }

  SpawnPlan const& plan_;
  std::vector<std::string> words_;
  std::vector<std::string> variables_;
  std::vector<char*> arguments_;
  std::vector<char*> environment_;
  std::optional<Account> account_;
  int output_;
  int complaints_;
  pid_t parent_;
};

/// Closes a descriptor at the end.
struct Closer {
  int descriptor;
  ~Closer() { ::close(descriptor); }
};

pid_t fork_and_exec(SpawnPlan const& plan) {
  auto const failed = [&](int error, std::string const& what) {
    return std::system_error(error, std::generic_category(), "cannot start " + what);
  };
  Closer const log{::open(plan.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)};
  if (log.descriptor < 0) throw failed(errno, plan.command.at(0) + ", log file " + plan.log);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw failed(errno, plan.command.at(0));
  Closer const complaints{ends[0]};
  std::optional<Closer> child_end(std::in_place, ends[1]);
  ChildSide child(plan, log.descriptor, ends[1]);
  pid_t const pid = ::fork();
  if (pid < 0) throw failed(errno, plan.command[0]);
  if (pid == 0) child.run();
  ::setpgid(pid, pid);  // both sides set it: whoever comes first
  child_end.reset();
  int reason = 0;  // the pipe ends without a word when the program has begun
  if (::read(complaints.descriptor, &reason, sizeof reason) == sizeof reason) {
    ::waitpid(pid, nullptr, 0);
    throw failed(reason, plan.command[0] + " in " + plan.folder);
  }
  return pid;
}

/// The thread that makes all children.
class Spawner {
 public:
  static Spawner& instance() {
    static auto* const it = new Spawner;  // never gone: its thread must not end before the process
    return *it;
  }

  pid_t spawn(SpawnPlan const& plan) {
    std::packaged_task<pid_t()> task([&] { return fork_and_exec(plan); });
    auto result = task.get_future();
    {
      std::scoped_lock const guard(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
    return result.get();
  }

 private:
  Spawner() {
    std::thread([this] { serve(); }).detach();
  }

  void serve() {
    std::unique_lock guard(mutex_);
    while (true) {
      changed_.wait(guard, [this] { return !tasks_.empty(); });
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      guard.unlock();
      task();
      guard.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<pid_t()>> tasks_;
};

}  // namespace

pid_t spawn(SpawnPlan const& plan) { return Spawner::instance().spawn(plan); }

void give_to(std::string const& user, std::string const& path) {
  auto const account = account_of(user);
  auto const give = [&](std::filesystem::path const& one) {
    if (::lchown(one.c_str(), account.user, account.group) != 0) {
      throw std::system_error(errno, std::generic_category(),
                              "cannot give " + one.string() + " to " + user);
    }
  };
  give(path);
  for (auto const& entry : std::filesystem::recursive_directory_iterator(path)) give(entry.path());
}

}  // namespace holt::test
