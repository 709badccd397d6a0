// SPDX-License-Identifier: Apache-2.0
#pragma once
// StoreFile: is the file still the one that was opened? A store that was deleted or replaced under
// us is another store: every lease on it is void. Asked before each use (one stat), and watched
// through inotify by those who listen, so that a holder hears of it at once.

#include "contracts/env.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace holt::sqlite {

class StoreFile {
 public:
  /// Remembers which file `path` is now.
  StoreFile(Env& env, std::string path);
  /// After this `gone` is not called any more. Not on Env::executor().
  ~StoreFile();
  StoreFile(StoreFile const&) = delete;
  StoreFile& operator=(StoreFile const&) = delete;

  [[nodiscard]] std::string const& path() const noexcept;

  /// Throws EngineError when the file is another one or gone, for ever after the first time, and in
  /// a process that was forked after it was opened. Any thread.
  void check(std::string_view operation);

  /// Who to tell, once, on Env::executor(). Empty: nobody. Any thread.
  void on_gone(std::function<void(std::string reason)> gone);

  /// Looks, and watches from here on, if the system has a watch left; without one check() has to
  /// do. Any thread; cheap when it watches already.
  void watch();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt::sqlite
