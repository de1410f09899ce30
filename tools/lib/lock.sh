# shellcheck shell=bash disable=SC2154
# One build at a time in a checkout; part of ./sluice, which has note, die and $build.

# Longer than any build takes, of both halves and with every download.
build_lock_seconds=3600

check_flock() {
  command -v flock >/dev/null ||
    die "no flock found, which keeps two ./sluice from building at once." \
      "It is part of util-linux (apt-get install util-linux, or yum install util-linux)"
}

# with_build_lock COMMAND…: runs the command while no other ./sluice builds in this checkout. The lock is the kernel's,
# on a descriptor, so it ends with this process however that ends. The command's programs do not get the descriptor: one
# that stays in the background keeps nobody waiting.
with_build_lock() {
  check_flock
  mkdir -p "$build"
  (
    take_build_lock
    printf '%s\n' "$$" >"$build/.lock"
    "$@" 9>&-
  ) 9>>"$build/.lock"
}

take_build_lock() {
  if flock --nonblock 9; then return; fi
  note "Waiting until another ./sluice (process $(<"$build/.lock")) has built in $root"
  flock --wait "$build_lock_seconds" 9 ||
    die "waited $((build_lock_seconds / 60)) minutes for process $(<"$build/.lock")," \
      "which holds $build/.lock. End it if it hangs, then try again"
}
