// SPDX-License-Identifier: Apache-2.0
#pragma once
// The other process of a multi-process test: a Holt client that is told what to do line by line on
// its standard input and answers each with one line on its standard output.
//   lock NAME TTL_MS WAIT_MS   locked FENCE | busy WHY
//   held                       yes | no REASON
//   await_lost MS              lost REASON NS_LATE | still_held   (late: after the deadline)
//   hold N TTL_MS              holding N          (N locks named hold-0 …)
//   count_held                 N
//   release                    released | lost REASON
//   find NAME                  owner OWNER | free
//   stand NAME TTL_MS LOG WHO  standing           (voter.hpp: a candidate, and its overlap log)
//   await_leading MS           leads TERM | follows
//   await_following MS         the same
//   step_down                  done | not_leader | late
//   stand_again                standing
//   fetch POLLING TTL_MS EVERY_MS LOG WHO ENDPOINT...   fetching   (fetcher.hpp: a node)
//   await_poll ENDPOINT MS     polled FENCE | none     (one more poll of it has begun)
//   polls                      how many have begun
//   owned                      how many endpoints are its own
//   keep ENDPOINT MS           kept ENDPOINT FENCE held|lost told|untold | none
//   kept                       the same             (the poll that is kept in flight)
//   let_go                     done
//   stop_fetching              stopped | late
//   mistakes                   none | what was wrong
//   work QUEUE TTL_MS CONCURRENCY LEDGER WHO   working   (doer.hpp: a worker of a queue)
//   stop_working MS            stopped | late
//   cpu                        microseconds of CPU time used so far
//   at                         BootClock in ns
// Anything that throws answers `error TEXT`.

#include <string>

namespace holt::test {

/// Serves commands until end of file; what `--worker URL` runs.
int serve_commands(std::string const& url);

}  // namespace holt::test
