#    suf_test(<name> <fast|full|nightly> [SWEEP] [COST s] [TIMEOUT s] [PROCESSORS n] [FIXTURES_SETUP f]
#             [FIXTURES_REQUIRED f] [DEPENDS targets..] COMMAND <program or target> args..)
#
# Adds a test of one of three tiers. `make test` builds and runs fast, `make test-all` fast and full, `make nightly` all
# three. CONTRIBUTING.md says which tests each tier has and how long it takes. The tier is the CTest label. The target
# fast_tests or full_tests builds the program of each command, each $<TARGET_FILE:..> in it, and DEPENDS.
#
#    SWEEP          runs one shard of eight unless SHARD says otherwise (tools/shard.sh)
#    COST           seconds; ctest begins the longest first, also in a folder where no test has run; like the options
#                   after it, this is a property of CTest
add_custom_target(fast_tests)
add_custom_target(full_tests)
add_dependencies(full_tests fast_tests)

function(suf_test name tier)
  set(properties COST TIMEOUT PROCESSORS FIXTURES_SETUP FIXTURES_REQUIRED)
  cmake_parse_arguments(T "SWEEP" "${properties}" "DEPENDS;COMMAND" ${ARGN})
  if(NOT tier MATCHES "^(fast|full|nightly)$")
    message(FATAL_ERROR "the test ${name} is of tier ${tier}; choose fast, full or nightly")
  endif()
  if(NOT T_COMMAND OR T_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "suf_test(${name}): give a COMMAND, and no ${T_UNPARSED_ARGUMENTS}")
  endif()
  list(GET T_COMMAND 0 program)
  set(depends ${T_DEPENDS})
  if(TARGET ${program})
    list(APPEND depends ${program})
    list(REMOVE_AT T_COMMAND 0)
    list(PREPEND T_COMMAND $<TARGET_FILE:${program}>)
  endif()
  string(REGEX MATCHALL "<TARGET_FILE:[A-Za-z0-9_]+" named "${T_COMMAND}")
  foreach(one ${named})
    string(REPLACE "<TARGET_FILE:" "" one "${one}")
    list(APPEND depends ${one})
  endforeach()
  if(T_SWEEP)
    list(PREPEND T_COMMAND ${CMAKE_SOURCE_DIR}/tools/shard.sh)
  endif()
  add_test(NAME ${name} COMMAND ${T_COMMAND} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${tier})
  foreach(property ${properties})
    if(DEFINED T_${property})
      set_tests_properties(${name} PROPERTIES ${property} ${T_${property}})
    endif()
  endforeach()
  if(depends AND NOT tier STREQUAL nightly)
    add_dependencies(${tier}_tests ${depends})
  endif()
endfunction()

set(SUF_SWEEPS_fss Dpf.Exhaustive Dpf.LevelsAndParitiesExhaustive)
set(SUF_SWEEPS_compiler Lower.WideRingsAtRandom Lower.GridsUnderEveryMask Lower.EveryMaskOfSmallRings Lower.ClosedForms Lower.WideGrids
    Matrix.RandomFunctionsOfEverySize Matrix.EveryMaskOfEveryShape Wide.SquaresExhaustive)
set(SUF_SWEEPS_model Kinds/TokenizerGolden.DigestsEqualHuggingFace/*)
set(SUF_SWEEPS_gates FunctionPlan.Splits FunctionPlan.EveryLoweringIsThePlansFunction)

# suf_module_tests(<module>) adds the cases of <module>_test as one test or two, <module> and <module>_sweeps.
# SUF_SWEEPS_<module> has the sweeps, as names of GoogleTest; one shard of eight runs. tests/tiers_test.py checks these
# names against the program.
function(suf_module_tests module)
  list(JOIN SUF_SWEEPS_${module} : sweeps)
  set(rest "")
  if(sweeps)
    set(rest --gtest_filter=-${sweeps})
    suf_test(${module}_sweeps fast SWEEP COMMAND ${module}_test --gtest_filter=${sweeps})
  endif()
  suf_test(${module} fast COMMAND ${module}_test ${rest})
endfunction()
