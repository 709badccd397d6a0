# SPDX-License-Identifier: Apache-2.0
# Functions for tests/: programs from folders, and their registration with ctest.

# intercept_tls_get_addr=0: of the thread-local memory of a library that was loaded later ASan
# guesses the bounds, from what stands before it; if that is something else, the leak check at the
# end of the program reads from there and crashes. It finds that memory by itself.
string(
  JOIN
  ":"
  asan_options
  detect_stack_use_after_return=1
  strict_string_checks=1
  intercept_tls_get_addr=0)
set(tsan_suppressions "${PROJECT_SOURCE_DIR}/tests/tsan.supp")
set(HOLT_TEST_ENVIRONMENT
    "ASAN_OPTIONS=${asan_options}" "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1:die_after_fork=0:suppressions=${tsan_suppressions}")
if(TARGET holt)
  list(APPEND HOLT_TEST_ENVIRONMENT "HOLT_BINARY=$<TARGET_FILE:holt>")
endif()

add_custom_target(quick)  # what `make quick` builds
add_custom_target(tsan)   # what `make tsan` builds

# holt_add_test(<name> LABELS <label>... COMMAND <command>... [TIMEOUT <seconds>])
function(holt_add_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;COMMAND" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(
    ${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT
                                                             "${HOLT_TEST_ENVIRONMENT}")
endfunction()

# holt_test_program(<name> FOLDER <folder> LABELS <label>... [TIMEOUT <seconds>])
# A GoogleTest program from every .cpp of the folder. Each suite becomes the ctest test
# <first label>.<suite>. A folder may bring its own main.cpp, which must run GoogleTest too.
function(holt_test_program name)
  cmake_parse_arguments(arg "" "FOLDER;TIMEOUT" "LABELS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${arg_FOLDER}/*.cpp")
  if(NOT sources)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE holt_test_support holt_warnings)
  if(TARGET holt AND "process" IN_LIST arg_LABELS)
    add_dependencies(${name} holt)
    target_compile_definitions(${name} PRIVATE HOLT_BINARY="$<TARGET_FILE:holt>")
  endif()
  if(arg_LABELS MATCHES "unit|contract")
    add_dependencies(quick ${name})
  endif()
  if("tsan" IN_LIST arg_LABELS)
    add_dependencies(tsan ${name})
  endif()

  if(NOT "${CMAKE_CURRENT_SOURCE_DIR}/${arg_FOLDER}/main.cpp" IN_LIST sources)
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
  endif()
  list(GET arg_LABELS 0 label)
  holt_discover_suites(${name} ${label} "${arg_LABELS}" ${arg_TIMEOUT})
endfunction()

# Asks the built program for its suites and writes one add_test per suite. (gtest_discover_tests
# makes one process per test case, which costs more than the tests do under a sanitizer.)
function(holt_discover_suites name prefix labels timeout)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake")
  list(JOIN labels "," labels)
  # ENVIRONMENT has generator expressions, so it reaches the script through a generated file.
  file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}_environment.txt"
       CONTENT "${HOLT_TEST_ENVIRONMENT}")
  add_custom_command(
    TARGET ${name}
    POST_BUILD
    COMMAND
      "${CMAKE_COMMAND}" -D "program=$<TARGET_FILE:${name}>" -D "prefix=${prefix}" -D
      "labels=${labels}" -D "timeout=${timeout}" -D "output=${file}" -D
      "environment_file=${CMAKE_CURRENT_BINARY_DIR}/${name}_environment.txt" -P
      "${PROJECT_SOURCE_DIR}/cmake/discover_suites.cmake"
    BYPRODUCTS "${file}"
    COMMENT "Listing the suites of ${name}"
    VERBATIM)
  # Until the program is built there is nothing to include, and ctest then says so by name.
  set(stub "${CMAKE_CURRENT_BINARY_DIR}/${name}_tests.cmake")
  file(
    WRITE "${stub}"
    "if(EXISTS \"${file}\")\n  include(\"${file}\")\nelse()\n"
    "  add_test(${name}_NOT_BUILT ${name})\n"
    "  set_tests_properties(${name}_NOT_BUILT PROPERTIES LABELS \"${prefix}\")\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${stub}")
endfunction()
