// SPDX-License-Identifier: Apache-2.0
#pragma once
// Looks a program up as execvpe(3) does, without starting it: who has no use for work without it
// wants to know before there is any.

#include <string>

namespace holt::cli {

/// 0: it is there. Else what starting it would fail with: ENOENT, EACCES and the like.
[[nodiscard]] int look_up_program(std::string const& word);

}  // namespace holt::cli
