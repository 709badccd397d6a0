// SPDX-License-Identifier: Apache-2.0
#include "support/servers/tls_files.hpp"

#include "support/servers/server_process.hpp"

namespace holt::test {

TlsFiles::TlsFiles(Environment environment) : environment_(std::move(environment)) {
  make("ca", {"-addext", "basicConstraints=critical,CA:TRUE"});
  std::vector<std::string> const signed_by_ca{
      "-CA", ca(), "-CAkey", folder_.file("ca.key"), "-addext", "basicConstraints=CA:FALSE"};
  auto server = signed_by_ca;
  server.insert(server.end(),
                {"-addext", "subjectAltName=DNS:localhost,DNS:redis.test,IP:127.0.0.1"});
  make("server", server);
  make("client", signed_by_ca);
}

void TlsFiles::make(std::string const& name, std::vector<std::string> const& more) const {
  SpawnPlan plan;
  plan.command = {"openssl",
                  "req",
                  "-x509",
                  "-newkey",
                  "ec",
                  "-pkeyopt",
                  "ec_paramgen_curve:prime256v1",
                  "-nodes",
                  "-days",
                  "2",
                  "-subj",
                  "/CN=holt test " + name,
                  "-keyout",
                  folder_.file(name + ".key"),
                  "-out",
                  folder_.file(name + ".crt")};
  plan.command.insert(plan.command.end(), more.begin(), more.end());
  plan.environment = environment_;
  plan.folder = folder_.path();
  plan.log = folder_.file("openssl.log");
  run_program("openssl, making the certificate of the " + name, plan);
}

}  // namespace holt::test
