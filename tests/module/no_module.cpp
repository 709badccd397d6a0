// SPDX-License-Identifier: Apache-2.0
// A shared object that is no engine module.

extern "C" int stranger() { return 1; }
