# SPDX-License-Identifier: Apache-2.0
# Every library of others, as a target that links its static archive: the holt binary may need
# nothing at run time but libc and libm (and libstdc++ with libgcc, if those are not linked in).
# Imported targets count as system includes, so their warnings are not ours.
# OpenSSL and libpq are shared: only engine modules link them, and they get their updates from the
# system.

set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.81 CONFIG REQUIRED COMPONENTS headers json url)
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)  # of the system: engine modules only, never the holt binary
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)

# holt_dep_archive(<name> <header> <archive>): target holt_dep::<name>.
function(holt_dep_archive name header archive)
  find_path(HOLT_${name}_INCLUDE ${header} REQUIRED)
  find_library(HOLT_${name}_ARCHIVE ${archive} REQUIRED)
  add_library(holt_dep::${name} STATIC IMPORTED GLOBAL)
  set_target_properties(
    holt_dep::${name} PROPERTIES IMPORTED_LOCATION "${HOLT_${name}_ARCHIVE}"
                                 INTERFACE_INCLUDE_DIRECTORIES "${HOLT_${name}_INCLUDE}")
endfunction()

# holt_dep_headers(<name> <header> [definition...]): target holt_dep::<name>, nothing to link.
function(holt_dep_headers name header)
  find_path(HOLT_${name}_INCLUDE ${header} REQUIRED)
  add_library(holt_dep::${name} INTERFACE IMPORTED GLOBAL)
  set_target_properties(
    holt_dep::${name} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${HOLT_${name}_INCLUDE}"
                                 INTERFACE_COMPILE_DEFINITIONS "${ARGN}")
endfunction()

holt_dep_archive(utf8proc utf8proc.h libutf8proc.a)
holt_dep_archive(xxhash xxhash.h libxxhash.a)
holt_dep_archive(hiredis hiredis/hiredis.h libhiredis.a)
# Debian has the headers in a folder of their own.
find_path(HOLT_libpq_INCLUDE libpq-fe.h PATH_SUFFIXES postgresql REQUIRED)
find_library(HOLT_libpq_LIBRARY libpq.so REQUIRED)
add_library(holt_dep::libpq SHARED IMPORTED GLOBAL)
set_target_properties(
  holt_dep::libpq PROPERTIES IMPORTED_LOCATION "${HOLT_libpq_LIBRARY}"
                             INTERFACE_INCLUDE_DIRECTORIES "${HOLT_libpq_INCLUDE}")
holt_dep_archive(sqlite3 sqlite3.h libsqlite3.a)
target_link_libraries(holt_dep::sqlite3 INTERFACE m ${CMAKE_DL_LIBS} Threads::Threads)

# Debian has neither libfmt.a nor libspdlog.a: target holt_fmt compiles fmt once; spdlog, which is
# header-only here, belongs in one file of src/cli, and CLI11 and toml++ in one each too.
holt_dep_headers(fmt fmt/format.h)
holt_dep_headers(spdlog spdlog/spdlog.h SPDLOG_FMT_EXTERNAL)
holt_dep_headers(cli11 CLI/CLI.hpp)
holt_dep_headers(tomlplusplus toml++/toml.h TOML_HEADER_ONLY=1 TOML_ENABLE_FORMATTERS=0)
