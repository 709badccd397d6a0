# SPDX-License-Identifier: Apache-2.0
# The functions that the CMakeLists.txt files are written in.

# holt_library(<name> [FOLDER <folder>] [EXCLUDE <file>...] [LINK <target>...])
# One library per folder (default: the current one), from every .cpp in it; a new file is found by
# itself. A folder of headers, or an empty one, gives an interface library. LINK is public.
function(holt_library name)
  cmake_parse_arguments(arg "" "FOLDER" "EXCLUDE;LINK" ${ARGN})
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}")
  if(arg_FOLDER)
    string(APPEND folder "/${arg_FOLDER}")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  foreach(file IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "/${file}$")
  endforeach()
  holt_library_from(${name} "${sources}" ${arg_LINK})
endfunction()

# holt_library_from(<name> <sources> [target...])
function(holt_library_from name sources)
  set(kind PUBLIC)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PRIVATE holt_warnings)
  else()
    set(kind INTERFACE)
    add_library(${name} INTERFACE)
  endif()
  target_include_directories(${name} ${kind} "${PROJECT_SOURCE_DIR}/src"
                                             "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${name} ${kind} ${ARGN})
endfunction()

# holt_embed_sql(<target> <engine>): makes <engine>_sql.hpp from sql/*.sql, migrations/*.sql and
# *_migrations/*.sql of the current folder, for <target> to include. tools/embed.py says what is in
# it.
function(holt_embed_sql target engine)
  holt_embed(${target} ${engine} sql "sql/*.sql" "migrations/*.sql" "*_migrations/*.sql")
endfunction()

# holt_embed_scripts(<target> <engine>): the same with <engine>_scripts.hpp from scripts/*.lua.
function(holt_embed_scripts target engine)
  holt_embed(${target} ${engine} scripts "scripts/*.lua")
endfunction()

function(holt_embed target engine kind)
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  set(folder "${PROJECT_BINARY_DIR}/generated/${engine}")
  set(header "${folder}/${engine}_${kind}.hpp")
  add_custom_command(
    OUTPUT "${header}"
    COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/embed.py" --engine ${engine}
            --output "${header}" ${files}
    DEPENDS ${files} "${PROJECT_SOURCE_DIR}/tools/embed.py"
    COMMENT "Embedding the ${kind} of ${engine}"
    VERBATIM)
  add_custom_target(${target}_${kind} DEPENDS "${header}")
  add_dependencies(${target} ${target}_${kind})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_include_directories(${target} INTERFACE "${folder}")
  else()
    target_include_directories(${target} PUBLIC "${folder}")
  endif()
endfunction()

# holt_engine_module(<target> <scheme> <source> [LINK <target>...]): holt-engine-<scheme>.so, a
# module that the loader finds. It shares no symbol with the program but its one function.
function(holt_engine_module target scheme source)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_library(${target} MODULE "${source}")
  target_link_libraries(${target} PRIVATE holt_module holt_warnings ${arg_LINK})
  set(map "${PROJECT_SOURCE_DIR}/src/engines/module/exports.map")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}" LINKER:-Bsymbolic)
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME "holt-engine-${scheme}"
                                             LINK_DEPENDS "${map}")
endfunction()
