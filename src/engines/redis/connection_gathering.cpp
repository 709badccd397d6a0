// SPDX-License-Identifier: Apache-2.0
// Calls of several callers that a Connection sends as one.

#include "engines/redis/connection_state.hpp"

#include <algorithm>

namespace holt::redis {

void Connection::State::gather(Call call, Step const& step) {
  if (confirmed_longer_ago_than(look_every)) look_for_master();
  auto const name = step.name();
  bool const known = std::ranges::any_of(
      gathering, [name](Gathering const& each) { return each.batch.has(name); });
  if (known) end_gathering();
  auto found = std::ranges::find_if(
      gathering, [&](Gathering const& each) { return each.batch.is_of(step.of_many()); });
  if (found == gathering.end()) {
    found = gathering.insert(found, Gathering{Batch(step.of_many()), {}, false});
  }
  found->batch.add(step);
  found->calls.push_back(std::move(call));
  if (found->calls.size() == Batch::most) end_gathering(*found);
  flush_soon();
}

void Connection::State::end_gathering() {
  for (auto& gathered : gathering) end_gathering(gathered);
}

/// What was gathered joins what goes out next.
void Connection::State::end_gathering(Gathering& gathered) {
  auto const count = gathered.calls.size();
  if (count == 0) return;
  auto const before = out.size();
  bool const with_text = count > 1 && std::exchange(gathered.unknown, false);
  gathered.batch.take(out, with_text);
  gathered.calls.front().size = out.size() - before;
  gathered.calls.front().sharers = count;
  in_flight_bytes += out.size() - before;
  unsent += count;
  for (auto& call : gathered.calls) {
    watch(call.deadline);
    in_flight.push_back(std::move(call));
  }
  gathered.calls.clear();
}

/// Each gets its part of the list; of a refusal, the same.
void Connection::State::answer_all(Call first, Reply reply) {
  std::vector<Call> calls;
  calls.reserve(first.sharers);
  calls.push_back(std::move(first));
  while (calls.size() < calls.front().sharers) {
    calls.push_back(std::move(in_flight.front()));
    in_flight.pop_front();
  }
  transmit_waiting();
  bool const refused = reply->is_error();
  bool const unknown = is_unknown_script(*reply);
  for (auto& each : gathering) each.unknown |= unknown;
  bool const complete = refused || reply->size() == calls.size();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!calls[i].done) continue;
    if (complete) {
      calls[i].done(refused ? Reply::refusal(reply->text()) : reply.take(i));
    } else {
      calls[i].done(no_reply(failed(ErrorCode::internal, Outcome::unknown, calls[i].operation,
                                    "the server's answer is not a list of one for each")));
    }
  }
}

}  // namespace holt::redis
