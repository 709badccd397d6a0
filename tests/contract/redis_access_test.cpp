// SPDX-License-Identifier: Apache-2.0
// Getting in to Redis: what is said when a certificate, a password or a right is missing.

#include "contract/engine_test.hpp"
#include "support/redis_stores.hpp"

#include <holt/error.hpp>

#include <gmock/gmock.h>

#include <functional>
#include <string>

namespace holt::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string replaced(std::string text, std::string const& what, std::string const& by) {
  auto const at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what << " is not in " << text;
  return text.replace(at, what.size(), by);
}

class RedisAccess : public testing::Test {
 protected:
  /// What must fail, in words; `code` is checked.
  std::string refusal(std::string const& url, ErrorCode code) {
    return failure([&] { static_cast<void>(open_engine(env_, {url, "default"})); }, code);
  }
  static std::string failure(std::function<void()> const& work, ErrorCode code) {
    try {
      work();
    } catch (EngineError const& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return std::string(error.what()) + "\nTry: " + error.hint();
    }
    ADD_FAILURE() << "nothing was wrong";
    return {};
  }

  void SetUp() override { use_built_modules(); }

  RealEnv env_;
};

class RedisTls : public RedisAccess {
 protected:
  [[nodiscard]] static std::string address(RedisServer const& server) {
    return "rediss://127.0.0.1:" + std::to_string(server.tls_port());
  }
  std::string certificate_refusal(std::string const& url) {
    return refusal(url, ErrorCode::auth_failed);
  }
};

TEST_F(RedisTls, AnAuthorityThatIsNotTrusted) {
  RedisServer const server({.tls = RedisOptions::Tls::server});
  TlsFiles const others;
  for (auto const& url : {address(server), address(server) + "?ca_file=" + others.ca()}) {
    auto const said = certificate_refusal(url);
    EXPECT_THAT(said, HasSubstr("signed by an authority that is not trusted"));
    EXPECT_THAT(said, HasSubstr("Try: name the authority's certificate: ?ca_file="));
  }
}

TEST_F(RedisTls, ACertificateForAnotherName) {
  RedisServer const server({.tls = RedisOptions::Tls::server});
  auto const url = address(server) + "?ca_file=" + server.tls().ca();
  EXPECT_NO_THROW(static_cast<void>(open_engine(env_, {url, "default"})));
  EXPECT_NO_THROW(
      static_cast<void>(open_engine(env_, {url + "&server_name=redis.test", "default"})));
  auto const said = certificate_refusal(url + "&server_name=other.test");
  EXPECT_THAT(said, HasSubstr("the server's certificate is not for other.test"));
}

TEST_F(RedisTls, ACertificateThatHasExpired) {
  TemporaryFolder const folder;
  ShiftedClock const clock(folder.file("shift"));
  clock.set(-std::chrono::hours(24 * 10));
  TlsFiles const old(clock.environment());
  RedisServer const server({.tls = RedisOptions::Tls::server,
                            .config = {"tls-cert-file " + old.server_certificate(),
                                       "tls-key-file " + old.server_key()}});
  EXPECT_THAT(certificate_refusal(address(server) + "?ca_file=" + old.ca()),
              HasSubstr("the server's certificate has expired"));
}

TEST_F(RedisTls, NoCertificateOfOurs) {
  RedisServer const server({.tls = RedisOptions::Tls::mutual});
  TlsFiles const others;
  auto const url = address(server) + "?ca_file=" + server.tls().ca();
  auto const none = certificate_refusal(url);
  EXPECT_THAT(none, HasSubstr("the server wants a certificate from us"));
  EXPECT_THAT(none, HasSubstr("Try: name one: ?certificate_file="));
  EXPECT_THAT(certificate_refusal(url + "&certificate_file=" + others.client_certificate() +
                                  "&key_file=" + others.client_key()),
              HasSubstr("the server does not trust our certificate"));
}

TEST_F(RedisTls, FilesThatCannotBeRead) {
  RedisServer const server({.tls = RedisOptions::Tls::server});
  EXPECT_THAT(refusal(address(server) + "?ca_file=/no/ca.crt", ErrorCode::invalid_argument),
              HasSubstr("cannot use the authority's certificate /no/ca.crt: "));
  EXPECT_THAT(refusal(address(server) + "?ca_file=" + server.tls().ca() + "&certificate_file=" +
                          server.tls().client_certificate() + "&key_file=" + server.tls().ca(),
                      ErrorCode::invalid_argument),
              HasSubstr("cannot use the key "));
}

TEST_F(RedisTls, ThePortOfTheOtherKind) {
  RedisServer const server({.tls = RedisOptions::Tls::server});
  auto const said = [&](std::string const& url) {
    try {
      static_cast<void>(open_engine(env_, {url + "?timeout=2000", "default"}));
    } catch (EngineError const& error) {
      return error.hint();
    }
    return std::string("it was opened");
  };
  // How it fails differs from time to time.
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(said("redis://127.0.0.1:" + std::to_string(server.tls_port())),
                AllOf(HasSubstr("TLS"), HasSubstr("rediss://")));
    EXPECT_THAT(said("rediss://" + server.address()), HasSubstr("TLS"));
  }
}

TEST_F(RedisAccess, AWrongPassword) {
  RedisAclTestStore store;
  auto const said = refusal(replaced(store.url(), "change-me", "sesame"), ErrorCode::auth_failed);
  EXPECT_THAT(said, HasSubstr("WRONGPASS"));
  EXPECT_THAT(said, HasSubstr("Try: check user and password"));
  EXPECT_THAT(said, Not(HasSubstr("sesame")));
}

TEST_F(RedisAccess, AUserWithoutARight) {
  auto const url_for = [](RedisServer const& server) {
    return "redis://holt:change-me@" + server.address();
  };
  auto const line = RedisAclTestStore::example_line();

  RedisServer const no_info({.acl = {replaced(line, " +info", "")}});
  auto const said = refusal(url_for(no_info), ErrorCode::auth_failed);
  EXPECT_THAT(said, HasSubstr("no permissions to run the 'info' command"));
  EXPECT_THAT(said, HasSubstr("docs/engines.md has the ACL line"));

  for (auto const* const missing : {" +evalsha", " +hincrby"}) {
    RedisServer const server({.acl = {replaced(line, missing, "")}});
    auto const engine = open_engine(env_, {url_for(server), "default"});
    auto const refused = failure(
        [&] {
          LeaseRequest request({Name("x")}, Owner("inbox", std::string(22, 'a')), 1s);
          static_cast<void>(run(engine->leases().acquire(std::move(request), env_.now() + 5s)));
        },
        ErrorCode::auth_failed);
    EXPECT_THAT(refused, HasSubstr("docs/engines.md has the ACL line")) << missing;
  }
}

TEST_F(RedisAccess, TheExampleUserHasNoOtherRights) {
  RedisAclTestStore store;
  RedisClient client(store.server().port());
  client.done({"AUTH", "holt", "change-me"});
  for (RedisClient::Words const& words : std::vector<RedisClient::Words>{{"FLUSHALL"},
                                                                         {"KEYS", "*"},
                                                                         {"CONFIG", "GET", "*"},
                                                                         {"GET", "other"},
                                                                         {"PUBLISH", "other", "x"},
                                                                         {"SCRIPT", "FLUSH"}}) {
    EXPECT_THAT(client.ask(words).text, testing::StartsWith("NOPERM")) << words.front();
  }
}

}  // namespace
}  // namespace holt::test
