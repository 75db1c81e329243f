#!/bin/sh
# The compiler of the workspace's crates for fuzzing: RUSTC_WORKSPACE_WRAPPER calls it as `rustc-coverage.sh rustc ARGS`.
# The engine's crates count their branches for libFuzzer, and check what a debug build checks. All other crates compile
# as usual. The passes of LLVM are part of the stable compiler.
name=
previous=
for argument in "$@"; do
  if [ "$previous" = --crate-name ]; then
    name="$argument"
    break
  fi
  previous="$argument"
done
case "$name" in
  joust_core | joust_text | joust_fuzz)
    exec "$@" \
      -Cpasses=sancov-module \
      -Cllvm-args=-sanitizer-coverage-level=4 \
      -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
      -Cllvm-args=-sanitizer-coverage-pc-table \
      -Cllvm-args=-sanitizer-coverage-trace-compares \
      -Cdebug-assertions=on \
      -Coverflow-checks=on
    ;;
  *) exec "$@" ;;
esac
