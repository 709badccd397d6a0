# SPDX-License-Identifier: Apache-2.0
# Script: writes an add_test() for each GoogleTest suite of a program. Called after it is linked.
# In: program, prefix, labels (with commas), timeout, environment_file, output.

execute_process(COMMAND "${program}" --gtest_list_tests OUTPUT_VARIABLE listing
                RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${program} --gtest_list_tests failed (${result}):\n${listing}")
endif()

file(READ "${environment_file}" environment)
string(REPLACE "," ";" labels "${labels}")
# Suites stand at the start of a line and end with a dot; "Engines/LeaseStoreTest." is one of those
# that TEST_P makes, typed suites have "  # TypeParam = ..." after the dot.
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\." suites "${listing}")
set(script "")
foreach(suite IN LISTS suites)
  string(STRIP "${suite}" suite)
  string(REGEX REPLACE "\\.$" "" suite "${suite}")
  string(APPEND script "add_test([==[${prefix}.${suite}]==] [==[${program}]==] "
         "[==[--gtest_filter=${suite}.*]==] --gtest_brief=1)\n"
         "set_tests_properties([==[${prefix}.${suite}]==] PROPERTIES LABELS [==[${labels}]==] "
         "TIMEOUT ${timeout} ENVIRONMENT [==[${environment}]==])\n")
endforeach()
if(NOT script)
  message(FATAL_ERROR "${program} has no tests")
endif()
file(WRITE "${output}" "${script}")
