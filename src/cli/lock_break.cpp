// SPDX-License-Identifier: Apache-2.0
// holt lock break

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/fence.hpp>
#include <holt/lease.hpp>
#include <holt/name.hpp>
#include <holt/open.hpp>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

namespace holt::cli {
namespace {

Fence parse_fence(std::string const& text) {
  std::uint64_t value = 0;
  auto const* const begin = text.data();
  auto const* const end = begin + text.size();
  auto const read = std::from_chars(begin, end, value);
  if (read.ec != std::errc{} || read.ptr != end || value == 0) {
    throw UsageError("--fence " + in_quotes(text) +
                     " is no fence; give the number that show printed");
  }
  return Fence(value);
}

int report(BreakResult result, std::string const& lock) {
  switch (result) {
    case BreakResult::asked:
      talk("asked the holder of " + lock + " to stop: free when it has, or when its lease ends");
      return number(ExitCode::ok);
    case BreakResult::freed:
      talk(lock + " is free");
      return number(ExitCode::ok);
    case BreakResult::not_held:
      talk(lock + " is free already");
      return number(ExitCode::not_found);
    case BreakResult::other_fence:
      talk(lock + " is held under another fence than that");
      return number(ExitCode::conflict);
  }
  return number(ExitCode::failed);
}

int lock_break(CommandLine& line) {
  std::string text;
  std::optional<std::string> reason;
  std::optional<std::string> fence;
  BreakOptions options;
  StoreOptions store;
  line.word("NAME", text);
  line.value("--reason", "TEXT", reason, "why; the holder sees it (up to 256 bytes)");
  line.value("--fence", "NUMBER", fence, "only if it is held under this fence");
  line.flag("--now", options.now, "free it at once, though the holder may still work: unsafe");
  store.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  if (!reason) {
    throw UsageError("--reason is missing: the holder should know why",
                     "holt lock break NAME --reason TEXT");
  }
  if (fence) options.fence = parse_fence(*fence);
  line.doing = "break lock " + in_quotes(text);
  Name const name(text);
  auto holt = store.open();
  auto const result = holt.break_lock(name, *reason, options);
  if (options.now && result == BreakResult::freed) {
    talk(
        "warning: the holder may still believe that it holds the lock, and work; only a resource "
        "that checks fences is safe from it");
  }
  return report(result, "lock " + in_quotes(text));
}

}  // namespace

constinit Command const lock_break_command{
    .words = "lock break",
    .synopsis = "NAME --reason TEXT [options]",
    .summary = "Ask the holder of a lock to stop, or free it at once",
    .examples =
        "  holt lock break deploy --reason \"host is being replaced\"\n"
        "  holt lock break deploy --reason \"host is gone\" --now\n",
    .details =
        "Without --now the lock becomes free when its holder has let go, or when its lease\n"
        "ends: nobody else works on it meanwhile. With --now the next holder may start\n"
        "while this one still works.\n"
        "Exit code 3: it is free already. 5: it is held under another fence.\n",
    .run = &lock_break,
    .guide = "lock",
};

}  // namespace holt::cli
