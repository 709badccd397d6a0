// SPDX-License-Identifier: Apache-2.0
// What comes from outside, made of random bytes and of right texts with mistakes in them: nothing
// crashes, and nothing but the documented exception is thrown. The seeds are fixed.

#include "engines/redis/errors.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/place.hpp"
#include "engines/redis/poll_options.hpp"
#include "engines/redis/poll_values.hpp"
#include "engines/redis/reply.hpp"
#include "engines/redis/sovereign_options.hpp"
#include "engines/redis/syncguard_options.hpp"

#include <holt/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace holt::redis {
namespace {

using namespace std::string_literals;
using Texts = std::vector<std::string>;

constexpr int rounds = 10'000;

class Mangler {
 public:
  Mangler(unsigned seed, Texts samples, std::string letters)
      : random_(seed), samples_(std::move(samples)), letters_(std::move(letters)) {}

  /// One time in four random bytes, else a sample with some mistakes.
  std::string text() {
    std::string text;
    if (below(4) == 0) {
      for (auto left = below(60); left > 0; --left) text += byte();
      return text;
    }
    text = samples_[below(samples_.size())];
    for (auto mistakes = below(5) + 1; mistakes > 0; --mistakes) mangle(text);
    return text;
  }
  std::size_t below(std::size_t end) { return random_() % end; }

 private:
  /// Any, or one that means something here.
  char byte() {
    return below(2) == 0 ? static_cast<char>(below(256)) : letters_[below(letters_.size())];
  }
  void mangle(std::string& text) {
    auto const at = below(text.size() + 1);
    switch (below(5)) {
      case 0:
        text.insert(at, 1, byte());
        break;
      case 1:
        text.erase(at, below(8));
        break;
      case 2:
        if (at < text.size()) text[at] = byte();
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), below(20)));
        break;
      default:
        text.insert(at, samples_[below(samples_.size())]);
    }
  }

  std::mt19937 random_;
  Texts samples_;
  std::string letters_;
};

/// How many of them were taken; the others were refused with `Refusal`.
template <class Refusal>
int taken_of(Mangler& mangler, std::function<void(std::string const&)> const& read) {
  int taken = 0;
  for (int i = 0; i < rounds; ++i) {
    auto const text = mangler.text();
    try {
      read(text);
      ++taken;
    } catch (Refusal const&) {
      continue;
    } catch (std::exception const& error) {
      ADD_FAILURE() << testing::PrintToString(text) << ": " << error.what();
    }
  }
  return taken;
}

TEST(RedisRandomTest, Addresses) {
  Mangler mangler(1,
                  {"redis://user:pa%40ss@host:6379/0?timeout=100&eviction=allow",
                   "rediss://[::1]:6380?ca_file=/etc/ca&certificate_file=/c&key_file=/k",
                   "redis+unix:///run/redis.sock?db=1", "redis+sentinel://h1,h2:2,[::1]:3/main/4",
                   "redis://h?layout=syncguard&prefix=a%20b&cleanup_in_is_locked=true",
                   "redis://h?layout=sovereign&leader_key=a%3Ab&heartbeat_prefix=h",
                   "redis://h?layout=poll&prefix=a%3Ab&sessions=s&value=plain"},
                  ":/?#[]@,&=%+0123456789");
  auto const taken = taken_of<InvalidArgument>(mangler, [](std::string text) {
    auto const sovereign = take_sovereign_options(text);
    auto const poll = take_poll_options(text);
    auto const layout = take_syncguard_options(text);
    auto const place = parse_place(text);
    auto const url = place.url();
    Place again;
    EXPECT_NO_THROW(again = parse_place(url)) << testing::PrintToString(text);
    EXPECT_EQ(again.url(), url) << testing::PrintToString(text);
    if (layout) static_cast<void>(with_layout(url, *layout));
    if (sovereign) static_cast<void>(with_layout(url, *sovereign));
    if (poll) static_cast<void>(with_layout(url, *poll));
  });
  EXPECT_GT(taken, rounds / 100) << "some must be right, or this shows little";
  EXPECT_LT(taken, rounds);
}

TEST(RedisRandomTest, TimesOfAFleet) {
  Mangler mangler(5, {"2026-01-18T10:12:13.123456789Z", "2026-01-18T10:12:13+01:00"},
                  "0123456789T:-Z.+");
  int taken = 0;
  for (int i = 0; i < rounds; ++i) {
    auto const text = mangler.text();
    auto const time = parse_go_time(text);
    if (!time) continue;
    ++taken;
    EXPECT_EQ(parse_go_time(go_time(*time)), time) << testing::PrintToString(text);
  }
  EXPECT_GT(taken, rounds / 100) << "some must be right, or this shows little";
  EXPECT_LT(taken, rounds);
}

/// Looks at all there is, as far as it is what it says.
void look_through(ReplyView const& reply) {
  static_cast<void>(reply.is_nil());
  if (reply.is_text() || reply.is_error()) static_cast<void>(reply.text().size());
  for (std::size_t i = 0; i < reply.size(); ++i) look_through(reply[i]);
}

TEST(RedisRandomTest, Replies) {
  Mangler mangler(2,
                  {"+OK\r\n", ":-7\r\n", "$5\r\na\r\nb!\r\n", "$-1\r\n", "-ERR no\r\n", "*-1\r\n",
                   "*3\r\n:1\r\n*2\r\n$2\r\nhi\r\n*1\r\n$-1\r\n-ERR x\r\n", "%1\r\n+a\r\n:1\r\n",
                   "~1\r\n:1\r\n", ",1.5\r\n", "#t\r\n", "_\r\n", ">2\r\n+a\r\n+b\r\n",
                   "(123456789012345678901\r\n", "=7\r\ntxt:abc\r\n"},
                  "+-:$*_#,(=%~>|!\r\n0123456789");
  auto const taken = taken_of<std::runtime_error>(mangler, [&](std::string const& text) {
    ReplyReader reader;
    for (std::size_t at = 0; at < text.size();) {
      auto const size = std::min(mangler.below(16) + 1, text.size() - at);
      reader.feed(std::string_view(text).substr(at, size));
      at += size;
      while (auto const reply = reader.next()) {
        look_through(**reply);
        if ((*reply)->is_error()) static_cast<void>(refused("test", (*reply)->text()));
      }
    }
  });
  EXPECT_GT(taken, rounds / 100);
}

TEST(RedisRandomTest, Records) {
  auto const owner = "1234-00000000deadbeef.AAAAAAAAAAAAAAAAAAAAAA"s;
  Mangler mangler(
      3,
      {owner + " 1760000000000042 0 30000 1500 1760000000123 3 7\nreqstop it" + "a note",
       owner + " 1 1 100 0 5 0 0\n"},
      " \n.-0123456789");
  int read = 0;
  for (int i = 0; i < rounds; ++i) {
    auto const text = mangler.text();
    auto const record = parse_record(text);
    if (!record) continue;
    ++read;
    EXPECT_LE(record->note.size() + record->broken.size(), text.size());
    EXPECT_GE(std::min({record->ttl_ms, record->delay_ms, record->acquired_ms}), 0);
  }
  EXPECT_GT(read, rounds / 100);
}

}  // namespace
}  // namespace holt::redis
