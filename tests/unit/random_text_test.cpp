// SPDX-License-Identifier: Apache-2.0
// Text of random bits: the vectors of RFC 4648, and tokens that make a valid owner.
#include "base/random_text.hpp"

#include <holt/lease.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace holt {
namespace {

std::string encoded(std::string_view text) { return base64url(std::as_bytes(std::span(text))); }

TEST(RandomTextTest, VectorsOfRfc4648WithoutPadding) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg");
  EXPECT_EQ(encoded("fo"), "Zm8");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foob"), "Zm9vYg");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\xFB\xFF\xFE"), "-__-");
}

TEST(RandomTextTest, TokenHas22CharactersFromTwoNumbers) {
  int calls = 0;
  auto const token =
      random_token([&] { return ++calls == 1 ? 0x0706050403020100U : 0x0F0E0D0C0B0A0908U; });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(token, "AAECAwQFBgcICQoLDA0ODw");
}

TEST(RandomTextTest, TimedTokensSortByTheirMilliseconds) {
  using std::chrono::milliseconds;
  auto const at = [](std::int64_t ms) {
    return timed_token(std::chrono::system_clock::time_point(milliseconds(ms)),
                       [] { return ~std::uint64_t(0); });
  };
  EXPECT_EQ(at(0), "0000000.00________________");
  EXPECT_EQ(at(32), "0000000.10________________");
  EXPECT_EQ(at(127), "0000000.3v________________");
  EXPECT_EQ(at(128), "0000001.00________________");
  EXPECT_EQ(at((std::int64_t(1) << 42U) - 1), "vvvvvvv.3v________________");
  EXPECT_EQ(at(std::int64_t(1) << 42U), at(0));
  for (std::int64_t ms = 1'800'000'000'000; ms < 1'800'000'000'300; ++ms) {
    EXPECT_LT(at(ms), at(ms + 1));
  }
}

TEST(RandomTextTest, TimedTokensOfOneMomentDiffer) {
  std::uint64_t calls = 0;
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(timed_token({}, [&] { return ++calls; }));
  EXPECT_EQ(tokens.size(), 100U);
}

TEST(RandomTextTest, EveryBitCounts) {
  std::set<std::string> tokens;
  for (unsigned bit = 0; bit < 128; ++bit) {
    unsigned call = 0;
    tokens.insert(random_token([&]() -> std::uint64_t {
      return call++ == bit / 64 ? std::uint64_t{1} << (bit % 64) : 0;
    }));
  }
  EXPECT_EQ(tokens.size(), 128U);
  for (auto const& token : tokens) EXPECT_TRUE(Owner::parse("inbox." + token)) << token;
}

}  // namespace
}  // namespace holt
