#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs clang's thread-safety analysis over every source that a build folder
# compiles and that has to do with a lock: check_locks.sh BUILD CLANG++
set -eu
build=$1
clang=$2
includes="-I. -isystem $build/proto/generated"
status=0
for source in $(grep -rlE 'GUARDED_BY|MutexLock' --include='*.cc' --include='*.h' \
  proto storage shaders client daemon | sed 's/\.h$/.cc/' | sort -u); do
  [ -f "$source" ] || continue
  # shellcheck disable=SC2086 # two words on purpose
  "$clang" -std=c++20 -fsyntax-only -Wthread-safety -Werror=thread-safety \
    -DKILN_VERSION='"0"' -DSPDLOG_COMPILED_LIB -DSPDLOG_FMT_EXTERNAL $includes "$source" || status=1
done
exit $status
