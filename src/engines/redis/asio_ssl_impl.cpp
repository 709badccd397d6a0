// SPDX-License-Identifier: Apache-2.0
// Asio's own code for TLS, compiled here once (BOOST_ASIO_SEPARATE_COMPILATION) and nowhere else.

#include <boost/asio/ssl/impl/src.hpp>
