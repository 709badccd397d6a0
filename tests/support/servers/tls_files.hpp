// SPDX-License-Identifier: Apache-2.0
#pragma once
// TlsFiles: a certificate authority of one test, and certificates for a server and a client made by
// it with the openssl command. A second TlsFiles is an authority that the first one's sides do not
// trust. The server's certificate is for localhost, redis.test and 127.0.0.1.

#include "support/temporary_folder.hpp"

#include <string>
#include <utility>
#include <vector>

namespace holt::test {

class TlsFiles {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  /// Throws ServerFailed, with what openssl said, when they cannot be made. They are valid for two
  /// days by the clock of `environment` (of a ShiftedClock, say).
  explicit TlsFiles(Environment environment = {});

  [[nodiscard]] std::string ca() const { return folder_.file("ca.crt"); }
  [[nodiscard]] std::string server_certificate() const { return folder_.file("server.crt"); }
  [[nodiscard]] std::string server_key() const { return folder_.file("server.key"); }
  [[nodiscard]] std::string client_certificate() const { return folder_.file("client.crt"); }
  [[nodiscard]] std::string client_key() const { return folder_.file("client.key"); }

 private:
  void make(std::string const& name, std::vector<std::string> const& more) const;

  TemporaryFolder folder_;
  Environment environment_;
};

}  // namespace holt::test
