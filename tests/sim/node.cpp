// SPDX-License-Identifier: Apache-2.0
#include "sim/node.hpp"

#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace holt::sim {
namespace {

EventLog trace_log(World& world, NodeId node) {
  auto const sink = [&world, node](LogEvent const& event) {
    world.say(node, fmt::format("{} {} {} {} {}", event.event, event.name, event.owner, event.fence,
                                event.reason));
  };
  return {sink, LogLevel::debug, "sim", false};
}

}  // namespace

Node::Node(Surroundings around, NodeId id, std::string name, Skew skew)
    : around_(around),
      id_(id),
      name_(std::move(name)),
      env_(around.world, id, skew, around.options.seed, around.options.faults.lateness),
      bus_(around.hub, around.world, id),
      link_(env_, around.store_env, around.options.faults, around.options.seed),
      leases_(link_, around.leases, around.checker),
      records_(link_, around.records, around.landlord),
      tasks_(link_, around.tasks, around.ledger),
      log_(trace_log(around.world, id)),
      keeper_(env_, leases_, bus_, log_),
      locks_(env_, leases_, bus_, keeper_, log_),
      client_ended_(env_) {}

void Node::start_clients() {
  Tools const tools{env_, leases_, locks_, around_.checker, around_.options, around_.phase};
  for (std::uint32_t i = 1; i <= around_.options.clients; ++i) {
    auto const name = fmt::format("{}-{}", around_.world.name(id_), i);
    clients_.push_back(std::make_unique<Client>(tools, name));
    start(clients_.back()->run());
  }
  if (around_.options.elections) {
    voter_ = std::make_unique<Voter>(tools, keeper_, bus_, id_);
    start(voter_->run());
  }
  if (around_.options.polls.endpoints > 0) {
    PollTools const parts{env_, locks_, keeper_, leases_, nullptr, bus_, log_};
    fetcher_ = std::make_unique<Fetcher>(tools, parts, around_.board, name_);
    start(fetcher_->run());
    for (int i = 0; i < Fetcher::at_once; ++i) start(fetcher_->fetch());
  }
  if (around_.options.tenancy.names > 0) {
    tenant_ = std::make_unique<Tenant>(tools, records_, around_.landlord, id_);
    start(tenant_->run());
  }
  if (around_.options.tasks.handlers > 0) {
    WorkTools const parts{env_, tasks_, bus_, log_, env_.executor()};
    crew_ = std::make_unique<Crew>(tools, parts, around_.foreman, around_.ledger);
    customer_ = std::make_unique<Customer>(tools, tasks_, bus_, around_.ledger);
    start(crew_->run());
    start(customer_->run());
  }
}

void Node::start(asio::awaitable<void> work) {
  ++running_;
  auto const done = [this](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
    --running_;
    client_ended_.set();
  };
  asio::co_spawn(env_.executor(), std::move(work), done);
}

void Node::crash() {
  crashed_ = true;
  around_.world.crash(id_);
  bus_.unplug();
  link_.unplug();
  for (auto const& client : clients_) client->die();
  if (voter_) voter_->die();
  if (fetcher_) fetcher_->die();
  if (tenant_) tenant_->die();
  if (crew_) crew_->die();
  if (customer_) customer_->die();
}

void Node::lose_power() {
  if (!crashed_) crash();
  link_.lose_store();
}

void Node::heal() {
  around_.world.resume(id_);
  link_.cut(false);
  link_.heal();
}

bool Node::served() const {
  return std::ranges::all_of(clients_, [](auto const& client) { return client->served(); }) &&
         (!voter_ || voter_->served()) && (!fetcher_ || fetcher_->served()) &&
         (!tenant_ || tenant_->served()) && (!crew_ || crew_->served()) &&
         (!customer_ || customer_->served());
}

void Node::close() {
  around_.world.revive(id_);
  auto const done = [this](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
    closed_ = true;
  };
  asio::co_spawn(env_.executor(), close_parts(), done);
}

asio::awaitable<void> Node::close_parts() {
  while (running_ > 0) {
    [[maybe_unused]] bool const ended = co_await client_ended_.wait_until(Instant::max());
  }
  keeper_.drop_all(LossReason::closed);
  co_await locks_.close();
  co_await keeper_.close();
}

}  // namespace holt::sim
