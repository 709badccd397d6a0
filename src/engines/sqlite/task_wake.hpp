// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskWaker: who idles on a queue, and who of them is to be woken for new work. Who is woken is not
// idle any more, in the same step.

#include "engines/sqlite/task_rows.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holt::sqlite {

class TaskWaker {
 public:
  /// Reads who idles. `self`: the inbox of who asks, which never wakes itself; may be empty.
  TaskWaker(TaskRows& rows, std::string_view self);

  [[nodiscard]] bool nobody_idles() const noexcept { return marks_.empty(); }
  /// Somebody else idles for one of these kinds (none: any).
  [[nodiscard]] bool others_idle(std::vector<std::string> const& kinds) const;
  /// Who is to be woken for so many tasks of each kind.
  std::vector<std::string> wake(std::map<std::string, std::uint64_t> work);

  /// `self` idles for these kinds from now on, or does not. Workers of one process have one inbox,
  /// and a mark for each set of kinds.
  void mark(std::vector<std::string> const& kinds, std::uint64_t want, std::int64_t until_ns);
  void unmark(std::vector<std::string> const& kinds);

 private:
  struct Mark {
    std::string inbox;
    std::uint64_t want = 0;
    std::vector<std::string> kinds;
  };
  void drop(std::string const& inbox, std::vector<std::string> const& kinds);
  static std::uint64_t fill(Mark const& mark, std::map<std::string, std::uint64_t>& work);

  TaskRows& rows_;
  std::string self_;
  std::vector<Mark> own_;  ///< of `self`
  std::vector<Mark> marks_;
};

}  // namespace holt::sqlite
