// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/task_store.hpp"

#include "contracts/input_rules.hpp"
#include "contracts/task_rules.hpp"
#include "engines/postgres/binary.hpp"
#include "engines/postgres/span.hpp"
#include "engines/postgres/task_add_call.hpp"
#include "engines/postgres/task_view.hpp"
#include "postgres_sql.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace holt::postgres {
namespace {

/// Adds that are larger go alone: they gain nothing from company, and would keep it waiting.
constexpr std::size_t small_add = 100;
constexpr std::size_t small_add_bytes = 64UL * 1024;
/// A call weighs more than its tasks: its request takes a slot in the server's table of locks.
constexpr std::size_t weight_of_call = 15;
constexpr std::size_t weight_per_statement = 1024;
/// Statements with small adds at a time: more would each have fewer, and cost more in all.
constexpr int adds_at_once = 2;
/// Less than a statement with its commit takes.
constexpr std::chrono::microseconds adds_linger{200};
/// Exchanges that share a statement have so many tasks together, about, and are not many more.
constexpr std::size_t tasks_per_exchange_statement = 1000;
constexpr std::size_t weight_of_exchange = 10;
/// More statements at a time would each have fewer exchanges, and keep all connections busy.
constexpr int exchanges_at_once = 3;
constexpr std::size_t most_places = 4096;  ///< whose marks are remembered

Statement of_function(std::string_view text, Place const& place) {
  return kept_statement(in_schema(text, place.schema));
}

std::size_t weight_of(AddRequest const& request) { return weight_of_call + request.tasks.size(); }

/// What is wanted comes, but not much more than the last time: most who ask get nothing.
std::size_t exchange_weight(SharedExchange const& call) {
  auto const expected = std::min<std::size_t>(call->request().want, 2 * call->marks().got);
  return weight_of_exchange + call->request().finishes.size() + expected;
}

void check_text(std::string_view what, std::string_view text) {
  if (is_text(text)) return;
  throw InvalidArgument(std::string(what) + " must be UTF-8 text without zero bytes on this store");
}

bool is_small(AddRequest const& request) {
  std::size_t bytes = 0;
  for (auto const& task : request.tasks) bytes += task.payload.size() + task.metadata.size();
  return request.tasks.size() <= small_add && bytes <= small_add_bytes;
}

/// Each once, in their order: who asks for the same kinds is the same to the server.
std::vector<std::string> normal(std::vector<std::string> kinds) {
  std::ranges::sort(kinds);
  auto const rest = std::ranges::unique(kinds);
  kinds.erase(rest.begin(), rest.end());
  return kinds;
}

/// Whose marks are one.
std::string place_of(ClaimRequest const& request) {
  auto place = request.queue;
  for (auto const& kind : request.kinds) place += '\n' + kind;
  return place;
}

std::int64_t number_in(std::string const& cursor) {
  if (cursor.empty()) return 0;
  std::int64_t number = 0;
  auto const* const begin = cursor.data();
  auto const* const end = begin + cursor.size();
  auto const [stop, error] = std::from_chars(begin, end, number);
  if (error == std::errc() && stop == end && number >= 0) return number;
  throw InvalidArgument("\"" + cursor + "\" is no cursor: use one that a page ended with");
}

std::vector<TaskId> ids_in(std::string const& queue, std::string_view numbers) {
  std::vector<TaskId> ids;
  for (auto const number : integers_of(numbers)) {
    ids.emplace_back(queue, static_cast<std::uint64_t>(number));
  }
  return ids;
}

std::expected<RenewedClaim, Lost> renewal_of(Answer const& answer, int row,
                                             ClaimRenewal const& renewal) {
  auto const code = answer.integer(row, 0);
  if (code != 1) {
    return std::unexpected(Lost{code == 2 ? LossReason::expired : LossReason::taken, {}});
  }
  RenewedClaim renewed;
  renewed.cancelled = ids_in(renewal.queue, answer.text(row, 1));
  renewed.refused = ids_in(renewal.queue, answer.text(row, 2));
  for (auto const& note : renewal.progress) {
    if (note.task.queue() != renewal.queue) renewed.refused.push_back(note.task);
  }
  return renewed;
}

}  // namespace

PostgresTaskStore::PostgresTaskStore(Env& env, Pool& pool, Pool& reads, Pool& sweeps,
                                     PostgresSignalBus& signals, Place const& place,
                                     std::string instance)
    : env_(env),
      pool_(pool),
      reads_(reads),
      signals_(signals),
      instance_(std::move(instance)),
      add_(of_function(sql::task_add, place)),
      add_usual_(of_function(sql::task_add_usual, place)),
      exchange_(of_function(sql::task_exchange, place)),
      renew_(of_function(sql::task_renew, place)),
      cancel_(of_function(sql::task_cancel, place)),
      look_(of_function(sql::task_look, place)),
      count_(of_function(sql::task_count, place)),
      sweeper_(env, sweeps, place),
      adds_(
          env, "add", weight_per_statement, adds_at_once, weight_of,
          [this](std::vector<AddRequest> requests, Instant deadline) {
            return add_all(std::move(requests), deadline);
          },
          adds_linger),
      exchanges_(env, "claim", tasks_per_exchange_statement, exchanges_at_once, exchange_weight,
                 [this](std::vector<SharedExchange> calls, Instant deadline) {
                   return exchange_all(std::move(calls), deadline);
                 }) {}

/// As of leases: not long on the cost of others.
std::int32_t PostgresTaskStore::patience(Instant deadline, std::size_t together) const {
  constexpr std::int32_t with_others = 100;
  auto const alone = lock_patience(env_.now(), deadline);
  return together > 1 ? std::min(alone, with_others) : alone;
}

// Adding.

asio::awaitable<std::vector<Added>> PostgresTaskStore::add(AddRequest request, Instant deadline) {
  check_add(request);
  check_text("a series of requests", request.request.series);
  for (auto const& task : request.tasks) check_text("an inbox", task.tell);
  AddedTasks added;
  if (is_small(request)) {
    added = co_await adds_.call(std::move(request), deadline);
  } else {
    std::vector<AddRequest> alone;
    alone.push_back(std::move(request));
    std::vector<AddedTasks> answers = co_await add_different(std::move(alone), deadline);
    added = std::move(answers.front());
  }
  co_return added;
}

/// Those that say the same again go behind the others, and are told what became of them.
asio::awaitable<std::vector<PostgresTaskStore::AddedTasks>> PostgresTaskStore::add_all(
    std::vector<AddRequest> requests, Instant deadline) {
  std::vector<AddedTasks> results(requests.size());
  std::vector<std::size_t> left(requests.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  while (!left.empty()) {
    std::set<std::pair<std::string, RequestId>> seen;
    auto const again = std::ranges::stable_partition(left, [&](std::size_t at) {
      auto const& request = requests[at];
      return request.request.empty() || seen.emplace(request.queue, request.request).second;
    });
    std::vector<std::size_t> const now(left.begin(), again.begin());
    left.erase(left.begin(), again.begin());
    std::vector<AddRequest> different;
    different.reserve(now.size());
    for (auto const at : now) different.push_back(requests[at]);
    std::vector<AddedTasks> answers = co_await add_different(std::move(different), deadline);
    for (std::size_t i = 0; i < now.size(); ++i) results[now[i]] = std::move(answers[i]);
  }
  co_return results;
}

asio::awaitable<std::vector<PostgresTaskStore::AddedTasks>> PostgresTaskStore::add_different(
    std::vector<AddRequest> requests, Instant deadline) {
  if (are_usual(requests)) {
    Answer const answer = co_await add_usual(requests, deadline);
    if (answer.rows() > 0) co_return usual_added_of(answer, requests);
  }
  auto parameters = add_parameters(instance_, patience(deadline, requests.size()), requests);
  Answer const answer =
      co_await pool_.call(add_, std::move(parameters), Effect::writes, "add", deadline);
  co_return added_of(answer, requests);
}

/// Wakes a worker of our own, who is told by the answer, or has the task already; also if that is
/// lost.
asio::awaitable<Answer> PostgresTaskStore::add_usual(std::vector<AddRequest> const& requests,
                                                     Instant deadline) {
  auto parameters = usual_add_parameters(instance_, patience(deadline, requests.size()), requests,
                                         signals_.inbox());
  auto const started = env_.now();
  bool wakes = false;
  std::optional<EngineError> failure;
  Answer answer;
  try {
    Answer got =
        co_await pool_.call(add_usual_, std::move(parameters), Effect::writes, "add", deadline);
    answer = std::move(got);
    auto handed = handed_over(answer, requests.front());
    wakes = handed || wakes_own(answer);
    if (handed) {
      handed->since = started;
      if (handed_.size() >= most_places) handed_.clear();  // the server knows them
      handed_.insert_or_assign(handed->owner, std::move(*handed));
    }
  } catch (EngineError const& error) {
    failure = error;
    wakes = error.outcome() == Outcome::unknown;
  }
  if (wakes) signals_.hear({std::string(topic::work), requests.front().queue});
  if (failure) throw EngineError(*failure);
  co_return std::move(answer);
}

// Claiming.

/// Who cannot be reached is not marked idle, and asks by the clock.
asio::awaitable<Hearing> PostgresTaskStore::hearing_of(ClaimRequest const& request,
                                                       Instant deadline) {
  Hearing hearing;
  if (request.want == 0 || request.idle_for == Nanos(0)) co_return hearing;
  hearing.hears = true;
  if (request.owner.inbox() != signals_.inbox()) co_return hearing;
  try {
    hearing.hears = co_await signals_.reachable(deadline);
  } catch (EngineError const&) {
    hearing.hears = false;
  }
  hearing.present = hearing.hears;
  co_return hearing;
}

asio::awaitable<Claimed> PostgresTaskStore::claim(ClaimRequest request, Instant deadline) {
  check_claim(request);
  check_text("a worker's name", request.worker);
  if (auto handed = take_handed(request)) co_return std::move(*handed);
  request.kinds = normal(std::move(request.kinds));
  Hearing const hearing = co_await hearing_of(request, deadline);
  auto const place = place_of(request);
  auto const call =
      std::make_shared<ExchangeCall const>(std::move(request), hearing, marks_for(place));
  ExchangeResult result = co_await exchanges_.call(call, deadline);
  remember(place, call->request(), result);
  auto const got = result.claimed.tasks.size();
  sweeper_.taken(got, got < call->request().want);
  co_return std::move(result.claimed);
}

/// What the server need not be asked for. Who brings something else along asks it all the same.
std::optional<Claimed> PostgresTaskStore::take_handed(ClaimRequest const& request) {
  for (auto const& owner : request.give_back) handed_.erase(owner);
  if (request.want == 0) return std::nullopt;
  auto found = handed_.extract(request.next);
  if (!found || !request.finishes.empty() || !request.give_back.empty()) return std::nullopt;
  return std::move(found.mapped());
}

/// In an order that all clients keep, so that nobody waits for one who waits for it.
asio::awaitable<std::vector<ExchangeResult>> PostgresTaskStore::exchange_all(
    std::vector<SharedExchange> calls, Instant deadline) {
  std::vector<std::size_t> order(calls.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t at) {
    auto const& request = calls[at]->request();
    return std::pair(std::string_view(request.queue), std::string_view(request.owner.text()));
  });
  std::vector<SharedExchange> sorted;
  sorted.reserve(order.size());
  for (auto const at : order) sorted.push_back(calls[at]);
  auto parameters = exchange_parameters(instance_, patience(deadline, calls.size()), sorted);
  Answer const answer =
      co_await pool_.call(exchange_, std::move(parameters), Effect::writes, "claim", deadline);
  std::vector<ExchangeResult> results(calls.size());
  for (std::size_t row = 0; row < order.size(); ++row) {
    results[order[row]] = sorted[row]->result_in(answer, static_cast<int>(row));
  }
  co_return results;
}

TaskMarks PostgresTaskStore::marks_for(std::string const& place) {
  if (marks_.size() > most_places) marks_.clear();
  auto& marks = marks_[place];
  if (env_.now() >= marks.until) {
    marks.drop();
    marks.until = env_.now() + TaskMarks::lifetime;
  }
  return marks;
}

void PostgresTaskStore::remember(std::string const& place, ClaimRequest const& request,
                                 ExchangeResult const& result) {
  auto const completed = [](std::expected<TaskState, Lost> const& finish) {
    return finish && *finish == TaskState::completed;
  };
  auto const& claimed = result.claimed;
  bool const came_back =
      !request.give_back.empty() || !std::ranges::all_of(claimed.finishes, completed);
  if (request.want > 0) marks_[place].got = claimed.tasks.size();
  if (came_back || (request.want > 0 && claimed.tasks.size() < request.want)) {
    // Of this queue for other kinds, too: they stand together.
    for (auto one = marks_.lower_bound(request.queue);
         one != marks_.end() &&
         (one->first == request.queue || one->first.starts_with(request.queue + '\n'));
         ++one) {
      one->second.drop();
    }
  } else if (request.want > 0) {
    marks_[place].move_on(result.seen);
  }
}

asio::awaitable<std::vector<std::expected<RenewedClaim, Lost>>> PostgresTaskStore::renew(
    std::vector<ClaimRenewal> renewals, Instant deadline) {
  check_renewals(renewals);
  std::vector<std::size_t> order(renewals.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t at) {
    return std::tuple(std::string_view(renewals[at].queue),
                      std::string_view(renewals[at].owner.text()));
  });
  std::vector<std::string> queues;
  std::vector<std::string> owners;
  std::vector<std::int64_t> fences;
  std::vector<std::int64_t> ttls;
  std::vector<std::int32_t> note_of;
  std::vector<std::int64_t> numbers;
  std::vector<std::string_view> notes;
  for (auto const at : order) {
    auto const& renewal = renewals[at];
    queues.push_back(renewal.queue);
    owners.push_back(renewal.owner.text());
    fences.push_back(static_cast<std::int64_t>(renewal.fence.value()));
    ttls.push_back(to_us(renewal.ttl));
    for (auto const& note : renewal.progress) {
      if (note.task.queue() != renewal.queue) continue;
      note_of.push_back(static_cast<std::int32_t>(owners.size()));
      numbers.push_back(static_cast<std::int64_t>(note.task.number()));
      notes.push_back(note.text);
    }
  }
  Parameters parameters;
  parameters.add(instance_).add(patience(deadline)).add(queues).add(owners).add(fences).add(ttls);
  parameters.add(note_of).add(numbers).add_bytes(notes);
  Answer const answer =
      co_await pool_.call(renew_, std::move(parameters), Effect::writes, "renew", deadline);
  std::vector<std::expected<RenewedClaim, Lost>> results(renewals.size());
  for (std::size_t row = 0; row < order.size(); ++row) {
    results[order[row]] = renewal_of(answer, static_cast<int>(row), renewals[order[row]]);
  }
  co_return results;
}

asio::awaitable<Cancellation> PostgresTaskStore::cancel(TaskId id, Instant deadline) {
  check_task_id(id);
  Parameters parameters;
  parameters.add(instance_).add(patience(deadline)).add(id.queue());
  parameters.add(static_cast<std::int64_t>(id.number()));
  Answer const answer =
      co_await pool_.call(cancel_, std::move(parameters), Effect::writes, "cancel", deadline);
  co_return static_cast<Cancellation>(answer.integer(0, 0));
}

// Looking.

asio::awaitable<std::optional<TaskInfo>> PostgresTaskStore::find(TaskId id, Instant deadline) {
  check_task_id(id);
  auto const number = static_cast<std::int64_t>(id.number());
  Parameters parameters;
  parameters.add(instance_).add(id.queue()).add(number).add(number).add(std::int32_t{1});
  parameters.add_null().add_null().add(true);
  Answer const answer =
      co_await pool_.call(look_, std::move(parameters), Effect::reads, "find", deadline);
  if (answer.rows() == 0) co_return std::nullopt;
  co_return task_info_of(answer, 0, id.queue());
}

asio::awaitable<TaskPage> PostgresTaskStore::list(std::string queue, TaskFilter filter,
                                                  std::string cursor, std::uint32_t limit,
                                                  Instant deadline) {
  check_queue(queue);
  check_page_size(limit);
  // One row more than fits, to know whether there is a next page.
  Parameters parameters;
  parameters.add(instance_).add(queue).add(number_in(cursor) + 1);
  parameters.add(std::numeric_limits<std::int64_t>::max());
  parameters.add(static_cast<std::int32_t>(limit + 1));
  if (filter.state) {
    parameters.add(static_cast<std::int32_t>(*filter.state));
  } else {
    parameters.add_null();
  }
  if (filter.kind.empty()) {
    parameters.add_null();
  } else {
    check_kind(filter.kind);
    parameters.add(filter.kind);
  }
  parameters.add(false);
  Answer const answer =
      co_await reads_.call(look_, std::move(parameters), Effect::reads, "list", deadline);
  TaskPage page;
  for (int row = 0; row < answer.rows(); ++row) {
    if (page.tasks.size() == limit) {
      page.next = std::to_string(page.tasks.back().id.number());
      break;
    }
    page.tasks.push_back(task_info_of(answer, row, queue));
  }
  co_return page;
}

asio::awaitable<TaskCounts> PostgresTaskStore::count(std::string queue, Instant deadline) {
  check_queue(queue);
  Parameters parameters;
  parameters.add(instance_).add(queue).add(static_cast<std::int32_t>(TaskCounts::limit));
  Answer const answer =
      co_await reads_.call(count_, std::move(parameters), Effect::reads, "count", deadline);
  auto const number = [&](int column) {
    return static_cast<std::uint64_t>(answer.integer(0, column));
  };
  TaskCounts counts;
  counts.scheduled = number(0);
  counts.pending = number(1);
  counts.running = number(2);
  counts.completed = number(3);
  counts.retrying = number(4);
  counts.dead = number(5);
  counts.cancelled = number(6);
  co_return counts;
}

}  // namespace holt::postgres
