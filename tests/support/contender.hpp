// SPDX-License-Identifier: Apache-2.0
#pragma once
// contend(): many threads of one client take the same few locks over and over and note in a log
// who believed to hold what when. Several processes may do it at once.

#include <chrono>
#include <string>

namespace holt::test {

struct Contention {
  std::string url;
  std::string log;  ///< of overlap_log.hpp
  std::string who;  ///< no spaces; another one in each process
  int threads = 200;
  int names = 20;
  int rounds = 3;       ///< locks that each thread takes
  bool patient = true;  ///< false: errors of the store are expected, and the call is repeated
  std::chrono::milliseconds ttl{5000};
};

/// How many locks were taken; threads * rounds when all went well.
int contend(Contention const& contention);

}  // namespace holt::test
