# SPDX-License-Identifier: Apache-2.0
# Language, warnings, optimisation, sanitizers and the compiler cache, for every target.
# Target holt_warnings carries the warnings, so that libraries of others are not held to them.

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Only what include/holt declares leaves the shared library (docs/adr/0011-installed-library.md).
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

include(CheckPIESupported)
check_pie_supported()

find_program(HOLT_CCACHE ccache)
if(HOLT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${HOLT_CCACHE}")
endif()

# -g1 is enough for line numbers in reports and halves what has to be written and linked.
# -Og: at -O1 g++ takes twice as long under the sanitizers, at -O0 the simulator runs slowly.
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
add_compile_options(-fstack-protector-strong "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
add_link_options(-Wl,-z,relro,-z,now)

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()

if(HOLT_SANITIZE STREQUAL "address")
  set(sanitizer_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(HOLT_SANITIZE STREQUAL "thread")
  set(sanitizer_flags -fsanitize=thread)
elseif(HOLT_SANITIZE)
  message(FATAL_ERROR "HOLT_SANITIZE is '${HOLT_SANITIZE}'; it must be OFF, address or thread")
endif()
if(HOLT_SANITIZE)
  add_compile_options(${sanitizer_flags} -fno-omit-frame-pointer)
  add_link_options(${sanitizer_flags})
endif()

# Tests are many programs; the release binary stays with the system's linker.
if(HOLT_TESTS)
  find_program(HOLT_LLD ld.lld)
  if(HOLT_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

add_library(holt_warnings INTERFACE)
target_compile_options(
  holt_warnings
  INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast
            -Wno-missing-field-initializers  # {.ttl = 5s} leaves the rest out on purpose
            $<$<BOOL:${HOLT_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 cannot follow values through coroutine frames and sanitizer checks, and warns wrongly.
  target_compile_options(
    holt_warnings INTERFACE -Wno-mismatched-new-delete
                            $<$<BOOL:${HOLT_SANITIZE}>:-Wno-maybe-uninitialized>
                            $<$<STREQUAL:${HOLT_SANITIZE},thread>:-Wno-tsan>)
else()
  # Clang counts sign conversions to -Wconversion, g++ does not; and it blames us for what
  # std::stable_sort of libstdc++ 12 calls.
  target_compile_options(holt_warnings INTERFACE -Wno-sign-conversion -Wno-deprecated-declarations)
endif()
