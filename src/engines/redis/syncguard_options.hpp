// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a store's address that choose a layout: layout=syncguard, prefix=...,
// cleanup_in_is_locked=true.

#include "engines/redis/syncguard_layout.hpp"

#include <optional>
#include <string>

namespace holt::redis {

struct SyncguardOptions {
  SyncguardLayout const* layout;
  std::string prefix;
  bool cleanup = false;  ///< a look at a name removes a lock of it that ended and is still there
};

/// Takes these options out of the address; nothing: it asks for the native layout. Throws
/// InvalidArgument.
[[nodiscard]] std::optional<SyncguardOptions> take_syncguard_options(std::string& url);

/// The address for people, with the layout that it is used with.
[[nodiscard]] std::string with_layout(std::string const& url, SyncguardOptions const& options);

}  // namespace holt::redis
