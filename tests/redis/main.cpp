// SPDX-License-Identifier: Apache-2.0
// Tests of the Redis engine alone. Started with `--contend URL LOG WHO` the same program is another
// process that wants the same locks.

#include "support/contender.hpp"

#include <gtest/gtest.h>

#include <string_view>

#ifdef __SANITIZE_THREAD__
/// libstdc++ counts the holders of an exception out of ThreadSanitizer's sight: that one thread
/// reads it and another drops it later is a race in its eyes only.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer chose the name
extern "C" [[gnu::visibility("default")]] char const* __tsan_default_suppressions() {
  return "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
#endif

int main(int argc, char** argv) {
  if (argc == 5 && std::string_view(argv[1]) == "--contend") {
    holt::test::Contention const how{
        .url = argv[2], .log = argv[3], .who = argv[4], .threads = 40, .names = 5, .rounds = 5};
    return holt::test::contend(how) == how.threads * how.rounds ? 0 : 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
