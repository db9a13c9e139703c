# Writes OUTPUT with the version, commit and dirty flag of SOURCE; touches it only when they changed.
cmake_policy(VERSION 3.25)
set(commit "none")
set(dirty 0)
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    set(dirty 1)
  endif()
endif()
if(NOT commit)
  set(commit "none")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
"#pragma once
#define CANDOR_VERSION \"@VERSION@\"
#define CANDOR_COMMIT \"@commit@\"
#define CANDOR_DIRTY @dirty@
" @ONLY)
