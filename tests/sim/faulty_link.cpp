// SPDX-License-Identifier: Apache-2.0
#include "sim/faulty_link.hpp"

namespace holt::sim {
namespace {

/// How long a store works at a request whose caller's deadline it does not know.
constexpr std::chrono::seconds patient_for{5};

}  // namespace

FaultyLink::FaultyLink(SimEnv& node, SimEnv& store_env, FaultOptions const& faults,
                       std::uint64_t seed)
    : node_(node),
      store_env_(store_env),
      world_(node.world()),
      faults_(faults),
      random_(seed, world_.name(node.node()) + " link") {}

std::exception_ptr FaultyLink::broken(ErrorCode code, Outcome outcome, std::string_view operation) {
  return std::make_exception_ptr(
      EngineError(code, outcome, "sim", operation, "injected by the simulator"));
}

Nanos FaultyLink::draw_delay() {
  if (random_.chance(faults_.slow)) {
    // Some come too late for their caller, some only late.
    auto const longest = random_.chance(500'000) ? faults_.slow_delay / 8 : faults_.slow_delay;
    return random_.between(Nanos(1000), std::max(faults_.delay, longest));
  }
  return random_.between(Nanos(1000), faults_.delay);
}

FaultyLink::Plan FaultyLink::draw() {
  Plan plan;
  plan.there = draw_delay();
  plan.back = draw_delay();
  plan.repeated = random_.chance(faults_.repeated);
  plan.patient = random_.chance(500'000);
  if (random_.chance(faults_.refused)) plan.fate = Fate::refused;
  if (random_.chance(faults_.lost)) plan.fate = Fate::lost;
  if (random_.chance(faults_.reply_lost)) plan.fate = Fate::reply_lost;
  if (random_.chance(faults_.reset)) plan.fate = Fate::reset;
  return plan;
}

Nanos FaultyLink::arrival_of(Plan const& plan) {
  auto arrival = world_.now() + plan.there;
  if (faults_.ordered && !plan.copy) {
    arrival = std::max(arrival, last_arrival_);
    last_arrival_ = arrival;
  }
  return arrival;
}

Nanos FaultyLink::time_at_store(Plan const& plan, Nanos budget) const {
  return plan.patient ? std::max<Nanos>(budget, patient_for) : budget - plan.there;
}

}  // namespace holt::sim
