// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lock pairs (fenced acquire and release, distinct names) per second: what a round of one kind
// gives, and rounds of several kinds beside each other. The same on every server.

#include "contracts/engine.hpp"

#include <holt/clock.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holt::bench {

/// What one round of one kind gave.
struct Measured {
  double rate = 0;    ///< pairs per second
  double p50 = 0;     ///< seconds of a pair
  double cpu_us = 0;  ///< of the client, per pair
  double pairs = 0;
  double server_us = 0;  ///< of the server, per pair
};

/// How many at a time, for how long.
struct Load {
  int workers = 1;
  std::chrono::milliseconds time{1000};
};

using OpenEngine = std::unique_ptr<Engine> (*)(Env& env, EngineOptions const& options);

/// The engine on its own loop: what it costs itself.
Measured engine_round(OpenEngine open, std::string const& url, Load load);
/// The whole library, one blocking call after the other.
Measured blocking_round(std::string const& url, Load load);
/// The whole library, in coroutines of a user.
Measured async_round(std::string const& url, Load load);

/// What a program prints; throws when it fails.
std::string output_of(std::string const& command);

/// Rounds of each kind, in the order in which they were run.
using Series = std::map<std::string, std::vector<Measured>>;

std::vector<double> values(std::vector<Measured> const& all, double Measured::* what);
/// The median of the rounds' ratios.
double ratio(Series& series, std::string const& of, std::string const& to, double Measured::* what);
/// The median, as text.
std::string rate_text(Series& series, std::string const& of);

}  // namespace holt::bench
