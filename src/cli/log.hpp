// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lease events on stderr, as HOLT_LOG_LEVEL (debug, info, warn, error, off; default warn) and
// HOLT_LOG_FORMAT (text, json; default text) ask for. Nothing is set up before the first event.

#include <holt/open.hpp>

namespace holt::cli {

/// Sets the level and the callback. Throws UsageError for a setting that is no setting.
void log_to_stderr(OpenOptions& options);

/// Waits for events that a client has made but a thread of it has not yet written, 2 s at most.
/// Call it once, when every client is closed and the process is about to end.
void finish_log() noexcept;

}  // namespace holt::cli
