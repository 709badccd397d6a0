// SPDX-License-Identifier: Apache-2.0
#pragma once
// OverlapLog: a file in which holders of locks, in any number of threads and processes, note what
// they believe and when (BootClock, one for the whole machine); overlaps_in() then proves or
// refutes that no two of them held the same name at the same time, in their own eyes, and that
// fences grew.
//
// A holder believes from enter() to leave(). One that never left (killed, cut off) believed until
// the latest moment that it noted: the deadline it trusted, or when it last saw itself hold. Where
// deadlines are given nobody believes past the last one: a holder that was frozen and leaves late
// is not blamed. Give them each time (renewals move them), or never.
//
//   auto tenure = log.enter("x", lock.fence(), "worker 1", lock.deadline());
//   while (working) if (!tenure.still([&] { return lock.held(); }, lock.deadline())) break;
//   tenure.leave(lock.deadline());  // before the release is sent: from then on another may enter
//   lock.release();

#include <holt/clock.hpp>
#include <holt/fence.hpp>

#include <functional>
#include <string>
#include <vector>

namespace holt::test {

class OverlapLog {
 public:
  /// One holder's time with one name. Must go before its log.
  class Tenure {
   public:
    /// Asks `held` and notes it when it says yes, with the deadline that is trusted now. What it
    /// says. After a no the tenure is over.
    bool still(std::function<bool()> const& held, Instant trusted_until = {});
    /// The holder is about to release.
    void leave(Instant trusted_until = {});

   private:
    friend class OverlapLog;
    Tenure(OverlapLog& log, std::string name, Fence fence, std::string holder)
        : log_(&log), name_(std::move(name)), fence_(fence), holder_(std::move(holder)) {}
    void note(char const* what, Instant at, Instant until) const;

    OverlapLog* log_;
    std::string name_;
    Fence fence_;
    std::string holder_;
  };

  /// Appends to this file, which is made if it is not there. Throws std::system_error.
  explicit OverlapLog(std::string const& file);
  ~OverlapLog();
  OverlapLog(OverlapLog const&) = delete;
  OverlapLog& operator=(OverlapLog const&) = delete;

  /// A holder has just been told that it holds `name`. Neither text has spaces or line ends.
  Tenure enter(std::string name, Fence fence, std::string holder, Instant trusted_until = {});

 private:
  int file_ = -1;
};

/// Every pair that overlapped and every fence that did not grow, in words; empty when all is well.
/// A fence that grows more slowly than time (given out before an older grant was noted) shows as
/// well. Throws std::runtime_error when the file cannot be read.
[[nodiscard]] std::vector<std::string> overlaps_in(std::string const& file);
/// How many times somebody entered: a test that proves something has some.
[[nodiscard]] std::size_t tenures_in(std::string const& file);

}  // namespace holt::test
