// SPDX-License-Identifier: Apache-2.0
// Tests with several processes. Started with `--worker URL` the same program is the other process.

#include "process/worker.hpp"

#include <gtest/gtest.h>

#include <string_view>

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--worker") {
    return holt::test::serve_commands(argv[2]);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
