// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/place.hpp"
#include "support/temporary_folder.hpp"

#include <holt/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <array>
#include <fstream>
#include <string>

namespace holt::redis {
namespace {

using testing::HasSubstr;
using testing::Not;

/// What is said about an address that must be refused.
std::string refusal(std::string const& url) {
  try {
    static_cast<void>(parse_place(url));
  } catch (InvalidArgument const& error) {
    return error.what();
  }
  ADD_FAILURE() << url << " was accepted";
  return {};
}

class RedisPlaceTest : public testing::Test {
 protected:
  [[nodiscard]] std::string file_with(std::string const& text) const {
    auto path = folder_.file("secret");
    std::ofstream(path) << text;
    return path;
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(RedisPlaceTest, ServerWithAndWithoutDetails) {
  auto const bare = parse_place("redis://db.example");
  EXPECT_EQ(bare.host, "db.example");
  EXPECT_EQ(bare.port, 6379);
  EXPECT_EQ(bare.database, 0);
  EXPECT_FALSE(bare.tls);
  EXPECT_EQ(bare.url(), "redis://db.example:6379");

  auto const full = parse_place("redis://ann:p%40ss%2Fword@db:7000/3?timeout=250&eviction=allow");
  EXPECT_EQ(full.user, "ann");
  EXPECT_EQ(full.password, "p@ss/word");
  EXPECT_EQ(full.port, 7000);
  EXPECT_EQ(full.database, 3);
  EXPECT_EQ(full.connect_timeout, std::chrono::milliseconds(250));
  EXPECT_TRUE(full.allow_eviction);
  EXPECT_EQ(full.url(), "redis://ann@db:7000/3");
}

TEST_F(RedisPlaceTest, ReplicasToWaitFor) {
  EXPECT_EQ(parse_place("redis://db").wait_replicas, 0);
  auto const place = parse_place("redis+sentinel://a,b/s?wait_timeout=90&wait_replicas=2");
  EXPECT_EQ(place.wait_replicas, 2);
  EXPECT_EQ(place.wait_timeout, std::chrono::milliseconds(90));
}

TEST_F(RedisPlaceTest, TlsWithItsFiles) {
  auto const plain = parse_place("rediss://db/1");
  ASSERT_TRUE(plain.tls);
  EXPECT_EQ(plain.port, 6379);
  EXPECT_EQ(plain.tls->ca_file, "");
  EXPECT_EQ(plain.url(), "rediss://db:6379/1");

  auto const mutual = parse_place(
      "rediss://10.0.0.1:6380?ca_file=/etc/ca.pem&certificate_file=/c.pem&key_file=/k.pem&"
      "server_name=redis.example");
  ASSERT_TRUE(mutual.tls);
  EXPECT_EQ(mutual.tls->ca_file, "/etc/ca.pem");
  EXPECT_EQ(mutual.tls->certificate_file, "/c.pem");
  EXPECT_EQ(mutual.tls->key_file, "/k.pem");
  EXPECT_EQ(mutual.tls->server_name, "redis.example");
  EXPECT_EQ(mutual.url(), "rediss://10.0.0.1:6380");
}

TEST_F(RedisPlaceTest, Socket) {
  auto const place = parse_place("redis+unix://ann:secret@/run/my%20redis.sock?db=2");
  EXPECT_EQ(place.path, "/run/my redis.sock");
  EXPECT_EQ(place.host, "");
  EXPECT_EQ(place.database, 2);
  EXPECT_EQ(place.url(), "redis+unix://ann@/run/my%20redis.sock?db=2");
}

TEST_F(RedisPlaceTest, Sentinels) {
  auto const place = parse_place("redis+sentinel://h1:1001,[::1]:1002,h3/my%20service/4");
  ASSERT_EQ(place.sentinels.size(), 3U);
  EXPECT_EQ(place.sentinels[0], (Endpoint{"h1", 1001}));
  EXPECT_EQ(place.sentinels[1], (Endpoint{"::1", 1002}));
  EXPECT_EQ(place.sentinels[2], (Endpoint{"h3", 26379}));
  EXPECT_EQ(place.service, "my service");
  EXPECT_EQ(place.database, 4);
  EXPECT_EQ(place.host, "");
  EXPECT_EQ(place.url(), "redis+sentinel://h1:1001,[::1]:1002,h3:26379/my%20service/4");

  auto const one = parse_place("redis+sentinel://ann:a,b@h1/main");
  EXPECT_EQ(one.sentinels.size(), 1U);
  EXPECT_EQ(one.user, "ann");
  EXPECT_EQ(one.password, "a,b");
  EXPECT_EQ(one.url(), "redis+sentinel://ann@h1:26379/main");
}

TEST_F(RedisPlaceTest, SentinelsBehindTls) {
  auto const place = parse_place("rediss+sentinel://h1,h2:1002/main/1?ca_file=/etc/ca.pem");
  ASSERT_TRUE(place.tls);
  EXPECT_EQ(place.tls->ca_file, "/etc/ca.pem");
  EXPECT_EQ(place.sentinels.size(), 2U);
  EXPECT_EQ(place.url(), "rediss+sentinel://h1:26379,h2:1002/main/1");
  EXPECT_FALSE(parse_place("redis+sentinel://h1/main").tls);
}

TEST_F(RedisPlaceTest, Cluster) {
  auto const place = parse_place("redis+cluster://ann:secret@h1:7001,[::1]:7002,h3/0");
  ASSERT_EQ(place.cluster.size(), 3U);
  EXPECT_EQ(place.cluster[0], (Endpoint{"h1", 7001}));
  EXPECT_EQ(place.cluster[1], (Endpoint{"::1", 7002}));
  EXPECT_EQ(place.cluster[2], (Endpoint{"h3", 6379}));
  EXPECT_EQ(place.host, "");
  EXPECT_EQ(place.password, "secret");
  EXPECT_FALSE(place.tls);
  EXPECT_EQ(place.url(), "redis+cluster://ann@h1:7001,[::1]:7002,h3:6379");

  auto node = parse_place("rediss+cluster://h1?ca_file=/etc/ca.pem&wait_replicas=1");
  ASSERT_TRUE(node.tls);
  EXPECT_EQ(node.tls->ca_file, "/etc/ca.pem");
  EXPECT_EQ(node.url(), "rediss+cluster://h1:6379");
  node.host = "h9";
  EXPECT_EQ(node.url(), "rediss://h9:6379") << "one node of it";
}

TEST_F(RedisPlaceTest, SentinelsHavePasswordsOfTheirOwn) {
  auto const file = file_with("open\n");
  auto const place = parse_place("redis+sentinel://:data@h1/main?sentinel_user=watch&" +
                                 ("sentinel_password_file=" + file));
  EXPECT_EQ(place.password, "data");
  EXPECT_EQ(place.sentinel.user, "watch");
  EXPECT_EQ(place.sentinel.password, "open");
}

TEST_F(RedisPlaceTest, WhatUrlSaysLeadsToTheSamePlace) {
  for (auto const* const text :
       {"redis://db", "redis://[fe80::1]:7000/9", "redis://a%40b@db", "rediss://db:6380/2",
        "redis+unix:///run/a%3Fb.sock?db=5", "redis+sentinel://a,b:2,c/main/3",
        "redis+sentinel://u@a/s%2Ft", "rediss+sentinel://a,b/main", "redis+cluster://a:1,u,[::1]",
        "rediss+cluster://u@a,b"}) {
    auto const place = parse_place(text);
    auto const again = parse_place(place.url());
    EXPECT_EQ(again.url(), place.url()) << text;
    EXPECT_EQ(again.host, place.host) << text;
    EXPECT_EQ(again.port, place.port) << text;
    EXPECT_EQ(again.path, place.path) << text;
    EXPECT_EQ(again.user, place.user) << text;
    EXPECT_EQ(again.database, place.database) << text;
    EXPECT_EQ(again.tls.has_value(), place.tls.has_value()) << text;
    EXPECT_EQ(again.sentinels, place.sentinels) << text;
    EXPECT_EQ(again.cluster, place.cluster) << text;
    EXPECT_EQ(again.service, place.service) << text;
  }
}

TEST_F(RedisPlaceTest, PasswordsFromFilesAndVariables) {
  auto const file = file_with("from the file\nand more\n");
  EXPECT_EQ(parse_place("redis://db?password_file=" + file).password, "from the file");
  // NOLINTBEGIN(concurrency-mt-unsafe): one thread
  ::setenv("HOLT_TEST_PASSWORD", "from a variable", 1);
  EXPECT_EQ(parse_place("redis://db?password_env=HOLT_TEST_PASSWORD").password, "from a variable");
  EXPECT_THAT(refusal("redis://:x@db?password_env=HOLT_TEST_PASSWORD"),
              HasSubstr("more than one password"));
  ::unsetenv("HOLT_TEST_PASSWORD");
  // NOLINTEND(concurrency-mt-unsafe)
  EXPECT_THAT(refusal("redis://db?password_env=HOLT_TEST_PASSWORD"),
              HasSubstr("HOLT_TEST_PASSWORD, which is not set"));
  EXPECT_THAT(refusal("redis://db?password_file=/does/not/exist"),
              HasSubstr("no password can be read from /does/not/exist"));
}

TEST_F(RedisPlaceTest, MistakesAreSaid) {
  struct Mistake {
    char const* url;
    char const* said;
  };
  constexpr auto mistakes = std::to_array<Mistake>({
      {"redis", "it is no URL"},
      {"redis://", "names no host"},
      {"redis://db:99999", "its port is no number from 1 to 65535"},
      {"redis://db/x", "its database is no number from 0 to 1000000"},
      {"redis://a,b", "only redis+cluster:// and redis+sentinel:// do"},
      {"redis://db#x", "write it as %23"},
      {"redis://db?colour=red", "no option \"colour\" for it (there are timeout, password_file,"},
      {"redis://db?colour=red", ", wait_timeout, layout)"},
      {"redis://db?ca_file=/x", "no option \"ca_file\""},
      {"redis://db?db=1", "no option \"db\""},
      {"redis://db?eviction=no", "eviction can only be allow"},
      {"redis://db?timeout=0", "timeout"},
      {"redis://db?wait_replicas=0", "its wait_replicas is no number from 1 to 100"},
      {"redis://db?wait_timeout=9", "wait_timeout means nothing without wait_replicas"},
      {"rediss://db?certificate_file=/x", "certificate_file and key_file go together"},
      {"rediss://db?sentinel_user=x", "no option \"sentinel_user\""},
      {"redis+unix://db/path", "a socket has no host"},
      {"redis://a%20b", "a host is made of letters"},
      {"redis+unix:run/redis.sock", "begins with '/'"},
      {"redis+unix:///", "names no socket"},
      {"redis+sentinel://a,b", "names no service"},
      {"redis+sentinel://a,b/s?ca_file=/x", "no option \"ca_file\""},
      {"redis+sentinel://a,,b/s", "an empty one"},
      {"redis+sentinel://a,b:x/s", "its port is no number"},
      {"redis+sentinel://a,b/s/x", "its database is no number"},
      {"redis+sentinel://a,b/s/1/2", "its database is no number"},
      {"redis+cluster://", "names no host"},
      {"redis+cluster://a,,b", "an empty one"},
      {"redis+cluster://a,b/1", "a cluster has no database but 0"},
      {"redis+cluster://a,b/x", "its database is no number"},
      {"redis+cluster://a?ca_file=/x", "no option \"ca_file\""},
      {"redis+cluster://a?sentinel_user=x", "no option \"sentinel_user\""},
      {"redis+carrier-pigeon://db", "\"redis+carrier-pigeon:\" is no kind of Redis server"},
  });
  for (auto const& mistake : mistakes) {
    auto const said = refusal(mistake.url);
    EXPECT_THAT(said, HasSubstr(mistake.said)) << mistake.url;
    EXPECT_THAT(said, HasSubstr("write redis://host:6379/0")) << mistake.url;
  }
}

TEST_F(RedisPlaceTest, NoErrorHasASecret) {
  for (auto const* const url : {"redis://u:sesame@",
                                "redis://u:sesame@db:x",
                                "redis://u:sesame@db/x",
                                "redis://u:sesame@db?timeout=sesame",
                                "redis://u:sesame@db?eviction=sesame",
                                "redis://u:1/sesame@db",
                                "redis://u:1?sesame@db",
                                "redis://u:1#sesame@db",
                                "redis://u:1/sesame@db/0",
                                "redis://u:1?x=sesame@db",
                                "redis://u:sesame/x@db",
                                "redis://u:ses ame sesame@db",
                                "redis://db?password_env=sesame",
                                "redis://db?timeout=sesame",
                                "redis://db?password=sesame",
                                "redis+unix://u:sesame@db/path",
                                "redis+unix://sesame/path",
                                "redis+sentinel://u:sesame@a,,b/s",
                                "redis+sentinel://u:sesame@a,b",
                                "redis+sentinel://u:1/sesame@a,b/s",
                                "rediss://u:sesame@db?key_file=/x"}) {
    EXPECT_THAT(refusal(url), Not(HasSubstr("sesame"))) << url;
  }
  EXPECT_THAT(parse_place("redis://u:sesame@db").url(), Not(HasSubstr("sesame")));
}

}  // namespace
}  // namespace holt::redis
