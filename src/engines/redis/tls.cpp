// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/tls.hpp"

#include "engines/redis/errors.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <utility>

namespace holt::redis {
namespace {

using boost::system::error_code;

[[noreturn]] void unreadable(std::string_view what, std::string const& path,
                             error_code const& error) {
  throw failed(ErrorCode::invalid_argument, Outcome::not_applied, "connect",
               fmt::format("cannot use {} {}: {}", what, path, error.message()),
               "is it there, may we read it, and is it PEM?");
}

asio::ssl::context context_for(TlsOptions const& options) {
  asio::ssl::context context(asio::ssl::context::tls_client);
  ::SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  error_code error;
  if (options.ca_file.empty()) {
    context.set_default_verify_paths(error);
  } else {
    context.load_verify_file(options.ca_file, error);
  }
  if (error) unreadable("the authority's certificate", options.ca_file, error);
  if (!options.certificate_file.empty()) {
    context.use_certificate_chain_file(options.certificate_file, error);
    if (error) unreadable("the certificate", options.certificate_file, error);
    context.use_private_key_file(options.key_file, asio::ssl::context::pem, error);
    if (error) unreadable("the key", options.key_file, error);
  }
  context.set_verify_mode(asio::ssl::verify_peer);
  return context;
}

std::string expected_name(Place const& place) {
  return place.tls->server_name.empty() ? place.host : place.tls->server_name;
}

TlsTrouble certificate_trouble(long verified, std::string const& name) {
  switch (verified) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return {"the server's certificate is signed by an authority that is not trusted",
              "name the authority's certificate: ?ca_file=/path/of/ca.crt"};
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return {fmt::format("the server's certificate is not for {}", name),
              "use a name that stands in it, in the address or as ?server_name=NAME"};
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return {"the server's certificate has expired",
              "renew it; if it is new, is this machine's clock right?"};
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return {"the server's certificate is not valid yet", "is this machine's clock right?"};
    default:
      return {fmt::format("the server's certificate is refused: {}",
                          ::X509_verify_cert_error_string(verified)),
              {}};
  }
}

}  // namespace

Tls::Tls(asio::generic::stream_protocol::socket& socket, Place const& place)
    : context_(context_for(*place.tls)), stream_(socket, context_) {
  auto name = expected_name(place);
  ::SSL_set1_host(stream_.native_handle(), name.c_str());
  error_code is_name;
  asio::ip::make_address(name, is_name);
  if (is_name) {
    ::SSL_ctrl(stream_.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
               name.data());
  }
}

asio::awaitable<void> Tls::handshake(Place const& place) {
  error_code error;
  auto token = asio::redirect_error(asio::use_awaitable, error);
  co_await stream_.async_handshake(asio::ssl::stream_base::client, token);
  if (!error) co_return;
  auto const verified = ::SSL_get_verify_result(stream_.native_handle());
  TlsTrouble trouble = verified == X509_V_OK ? tls_trouble(error)
                                             : certificate_trouble(verified, expected_name(place));
  bool const known = !trouble.reason.empty();
  if (!known) trouble.reason = error.message();
  throw failed(known ? ErrorCode::auth_failed : ErrorCode::service_unavailable,
               Outcome::not_applied, "connect",
               fmt::format("no TLS with {}: {}", place.url(), trouble.reason), trouble.hint);
}

TlsTrouble tls_trouble(error_code const& error) {
  if (error.category() != asio::error::get_ssl_category()) return {};
  switch (ERR_GET_REASON(static_cast<unsigned long>(error.value()))) {
    case SSL_R_WRONG_VERSION_NUMBER:
      return {"the server does not speak TLS on this port", "use its TLS port, or redis://"};
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return {"the server wants a certificate from us",
              "name one: ?certificate_file=/path/of/client.crt&key_file=/path/of/client.key"};
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
      return {"the server does not trust our certificate",
              "it must be signed by the authority in the server's tls-ca-cert-file"};
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return {"our certificate has expired", "renew it"};
    default:
      return {};
  }
}

}  // namespace holt::redis
