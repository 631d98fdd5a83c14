# Makes libsuf.a and libsuf.so from the modules' objects, which are compiled once (position independent). Also makes
# everything that cmake --install copies: headers, suf::suf for find_package(suf), suf.pc, the program, its man page.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The public headers are these and the headers that they include.
file(GLOB public CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} suf/roles/*.hpp suf/gates/*.hpp suf/compiler/*.hpp
     suf/func/*.hpp suf/nn/*.hpp suf/nn/*/*.hpp suf/pfss/*.hpp)
list(APPEND public suf/backends/all.hpp suf/reference/clear.hpp suf/gpu/cuda.hpp suf/reference/myl7.hpp suf/cpu/packed.hpp suf/fss/dcf.hpp suf/exec/pool.hpp suf/model/random.hpp suf/net/certs.hpp
     suf/run/pair.hpp suf/net/tls.hpp)
list(FILTER public EXCLUDE REGEX "_test\\.hpp$")
set(SUF_PUBLIC_HEADERS "")
while(public)
  list(POP_FRONT public header)
  if(NOT header IN_LIST SUF_PUBLIC_HEADERS)
    list(APPEND SUF_PUBLIC_HEADERS ${header})
    file(STRINGS ${CMAKE_SOURCE_DIR}/${header} lines REGEX "^#include \"suf/")
    list(TRANSFORM lines REPLACE "^#include \"(.*)\".*" "\\1")
    list(APPEND public ${lines})
  endif()
endwhile()
foreach(header ${SUF_PUBLIC_HEADERS})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()

# The libraries export only declarations in namespace suf (exports.txt, as the compilers mangle them): functions,
# variables, types and their tables. They export nothing of the libraries that they use. So a program's own json or asio
# meets no second one. For this reason the archive is one object.
file(STRINGS cmake/exports.txt exports)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/exports.txt)
list(JOIN exports "; " exports)
file(CONFIGURE OUTPUT suf.map CONTENT "{ global: @exports@; local: *; };\n" @ONLY)
set(objects "")
set(library_modules ${SUF_ALL_MODULES})
list(REMOVE_ITEM library_modules suf_service)  # a part of the program: it brings databases
foreach(module ${library_modules})
  list(APPEND objects $<TARGET_OBJECTS:${module}>)
endforeach()
set(runtime "")  # of devices: it is part of the archive
if(SUF_HAS_CUDA)
  set(runtime ${CUDA_cudart_static_LIBRARY})
endif()
add_custom_command(OUTPUT suf.o COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o suf.o ${objects} ${runtime}
                   COMMAND ${CMAKE_OBJCOPY} --wildcard --localize-hidden
                           --keep-global-symbols=${CMAKE_SOURCE_DIR}/cmake/exports.txt suf.o
                   DEPENDS ${objects} ${CMAKE_SOURCE_DIR}/cmake/exports.txt COMMAND_EXPAND_LISTS VERBATIM)
set_source_files_properties(suf.o PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
add_library(suf_static STATIC suf.o)
add_library(suf_shared SHARED ${objects})
set(outside OpenSSL::SSL OpenSSL::Crypto Threads::Threads PkgConfig::UTF8PROC PkgConfig::MUPARSER)
target_link_libraries(suf_shared PRIVATE ${runtime})
foreach(kind shared static)
  target_link_libraries(suf_${kind} PRIVATE ${outside})
  target_compile_features(suf_${kind} INTERFACE cxx_std_20)
  target_include_directories(suf_${kind} INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(suf_${kind} PROPERTIES OUTPUT_NAME suf LINKER_LANGUAGE CXX)
  install(TARGETS suf_${kind} EXPORT suf-${kind})
  install(EXPORT suf-${kind} NAMESPACE suf:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/suf)
endforeach()
set_target_properties(suf_static PROPERTIES EXPORT_NAME static)
set_target_properties(suf_shared PROPERTIES EXPORT_NAME suf VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINK_DEPENDS ${CMAKE_BINARY_DIR}/suf.map)
target_link_options(suf_shared PRIVATE -Wl,--version-script=${CMAKE_BINARY_DIR}/suf.map -Wl,-Bsymbolic)

configure_package_config_file(cmake/suf-config.cmake.in suf-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/suf)
write_basic_package_version_file(suf-config-version.cmake COMPATIBILITY SameMinorVersion)
set(PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
set(PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
file(RELATIVE_PATH PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/suf.pc.in suf.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/suf-config.cmake ${CMAKE_BINARY_DIR}/suf-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/suf)
install(FILES ${CMAKE_BINARY_DIR}/suf.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS suf)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/deploy/ DESTINATION ${CMAKE_INSTALL_DATADIR}/suf)  # to be edited, so not where systemd finds them
add_custom_command(OUTPUT suf.1 COMMAND python3 ${CMAKE_SOURCE_DIR}/tools/man.py $<TARGET_FILE:suf> suf.1
                   DEPENDS suf ${CMAKE_SOURCE_DIR}/tools/man.py WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM)
add_custom_target(man ALL DEPENDS suf.1)
install(FILES ${CMAKE_BINARY_DIR}/suf.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
