// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lease events on stderr, as HOLT_LOG_LEVEL (debug, info, warn, error, off; default warn) and
// HOLT_LOG_FORMAT (text, json; default text) ask for. Nothing is set up before the first event.

#include <holt/open.hpp>

namespace holt::cli {

/// Sets the level and the callback. Throws UsageError for a setting that is no setting.
void log_to_stderr(OpenOptions& options);

}  // namespace holt::cli
