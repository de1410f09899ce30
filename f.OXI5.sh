#!/usr/bin/env bash
# The one script that using, building and testing Sluice needs. ./sluice help lists its commands.
# Everything it writes goes below build/, native/target, jvm/*/target and the local Maven and Cargo caches.
set -euo pipefail
shopt -s inherit_errexit

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
build=$root/build
logs=$build/logs
version=$(sed -n 's:^ *<version>\(.*\)</version>.*:\1:p' "$root/jvm/pom.xml" | head -n 1)
jar=$build/sluice-$version.jar
bench_jar=$build/sluice-bench.jar
pyspark_sources=$root/jvm/system-tests/pyspark
pyspark_home=$build/pyspark

# The newest patch of every supported line, with each Scala version it is published for. Of two entries with
# the same Spark version, the first is what the version means when no Scala version is given.
default_line=4.2.0-2.13
# TPC-DS in the default test: joins, sets, a rollup, a window over a full join, distinct aggregates.
some_queries=(tpcds-q{5,18,22,34,38,39a,51,67,78,93,95,97})
oldest_tested_line=3.5.8-2.12
# The system tests on the oldest tested line in the default test; those tagged once and deep are left out there anyway.
elsewhere_tests=LinkageTest,EveryLineTest,SqlSortTest,RddOperationsTest,FallbackTest,ShuffleServiceTest
# Lines on Javas other than the one that builds, as LINE/JAVA: those that most clusters of the line have, and the
# newest; --all has those between, too.
other_javas=(3.5.8-2.12/8 4.2.0-2.13/25)
middle_javas=(3.5.8-2.12/11)
all_lines=(4.2.0-2.13 3.5.8-2.12 3.5.8-2.13 3.3.4-2.12 3.3.4-2.13 3.4.4-2.12 3.4.3-2.13 4.0.2-2.13 4.1.1-2.13)

usage() {
  cat <<'TEXT'
Sluice: a drop-in accelerated shuffle for Apache Spark.

usage: ./sluice COMMAND [ARGUMENTS]

  help              this text
  build             build the jar: build/sluice-<version>.jar (--native-only: only this machine's native library)
  wheel             build the Python packages with the jar: build/wheel/dist/sluice_spark-<version>*
  release           lay out what a release publishes in build/release, and say what is wrong with it (--check: before a
                    release, with tests of what users install; --url URL: the project's page; SLUICE_SIGNING_KEY: a
                    key of gpg)
  demo              run three known jobs on Spark's shuffle and on Sluice, and compare (--size 500m)
  test              tests of both halves, on Spark 4.2.0 and 3.5.8, with a short one on every other version and on
                    Java 8 and 25 (--all-spark: the system tests on every line; --all-modes: all of them and
                    Spark's own suites in every mode, on 4.2.0; --all-suites: more of Spark's own suites; --all: all
                    three, the system tests on the other Javas, the wheel on every Python, a second build that must be
                    equal, the check of a release, and rdma-test --long; --only STEP,… behind any of them: these
                    steps alone, by the names that a run shows, which may be patterns).
                    Tests for which the Spark line makes no difference run on 4.2.0 only
  format            bring Rust and Java sources into the form that test checks
  bench WORKLOAD…   measure workloads on both engines (./sluice bench --help)
  soak              run random programs with random faults on both engines and compare (./sluice soak --help)
  fuzz [TARGET…]    look for inputs that the native core mishandles, by coverage (--minutes N in all, 10 unless given)
  hibench DIR       run HiBench's workloads from your checkout of it on both engines, by HiBench's own scripts; or
                    spark-terasort, or the examples of a Spark distribution (./sluice hibench --help)
  figures           measure every published figure again and rewrite the pages that show it (--help; 6 hours)
  proof             make every published figure again from its results, and say which are older than the code
  report FILE…      make an HTML page with charts from what bench wrote with --json, or of what event logs of Spark say
                    of Sluice (./sluice report --help)
  perftest          measure one-sided reads between two processes (./sluice perftest --self; --help)
  gpu               test the GPU code, on the simulated driver and on a GPU if there is one, and measure (gpu pack: make
                    build/gpu/pack, with which tools/gpu-run does that on a machine without Rust and Java; gpu
                    streams, gpu figures, gpu ucx, gpu device: a part of it; --help)
  rdma-test         run the transport's tests over RDMA in a virtual machine: soft-RoCE, Linux 6.12, UCX's rc
                    (--long: all of them; --help)
  cluster COMMAND   several hosts on this machine, with links as slow as you ask for (./sluice cluster help)
  conf              print what to add to a Spark command to use Sluice, and the memory that executors will use with
                    your settings (./sluice conf spark.master=yarn spark.executor.memory=8g …)
                    conf --from FILE [--to FILE] translates a spark-defaults.conf of the RAPIDS Shuffle Manager, of
                    SparkRDMA or of SparkUCX (docs/migration.md)
  doctor            say which modes this machine can run, and what is missing (./sluice doctor --help)
  site              make the documentation site from docs/: build/site/html
  pictures          make the documentation's pictures of the tab in Spark's UI anew: docs/images/ui-*.png
  advise LOG…       say from event logs of Spark what Sluice would save, and how sure that is (./sluice advise --help)

What is out of date is built first. Needs Linux, JDK 17 or later, Maven, Rust (rustup) and a C compiler;
python3 with pip brings the linker for glibc 2.17 and aarch64, UCX, and the compiler of the GPU kernels.
Logs are in build/logs.
TEXT
}

# --- Messages and steps -------------------------------------------------------------------------------------------

note() { printf '%s\n' "$*" >&2; }
die() { note "error: $*"; exit 1; }

# step NAME COMMAND…: runs the command with its output in build/logs/NAME.log; on failure shows what of it failed.
step() {
  local name=$1 log=$logs/$1.log start=$SECONDS
  shift
  mkdir -p "$logs"
  printf '  %-28s ' "$name" >&2
  start_progress "$name"
  if "$@" >"$log" 2>&1 </dev/null; then
    end_progress "$name" $((SECONDS - start)) 0
    note "ok, $((SECONDS - start)) s"
    return 0
  fi
  end_progress "$name" $((SECONDS - start)) 1
  note "FAILED after $((SECONDS - start)) s"
  show_failure "$log" >&2
  return 1
}

# What JUnit, ScalaTest, cargo and unittest say of tests that failed, the first 60 lines of it, and the log's end.
show_failure() {
  local failed marks='<<< (FAILURE|ERROR)!|\*\*\* FAILED \*\*\*|^test .* FAILED$|^(FAIL|ERROR): '
  failed=$(grep -E -A 6 "$marks" "$1" | head -n 60) || true
  if [[ -n $failed ]]; then printf 'tests of %s that failed:\n%s\n' "$1" "$failed"; fi
  printf 'the end of %s:\n' "$1"
  tail -n 40 "$1"
}

# shellcheck source=tools/lib/progress.sh
source "$root/tools/lib/progress.sh"
# shellcheck source=tools/lib/lock.sh
source "$root/tools/lib/lock.sh"
# shellcheck source=tools/lib/native.sh
source "$root/tools/lib/native.sh"
# shellcheck source=tools/lib/java.sh
source "$root/tools/lib/java.sh"
# shellcheck source=tools/lib/site.sh
source "$root/tools/lib/site.sh"
# shellcheck source=tools/lib/browser.sh
source "$root/tools/lib/browser.sh"
# shellcheck source=tools/lib/wheel.sh
source "$root/tools/lib/wheel.sh"
# shellcheck source=tools/lib/neighbours.sh
source "$root/tools/lib/neighbours.sh"

# --- Tools --------------------------------------------------------------------------------------------------------

java_command() { printf '%s' "${JAVA_HOME:+$JAVA_HOME/bin/}$1"; }

check_java() {
  local javac found
  javac=$(java_command javac)
  command -v "$javac" >/dev/null ||
    die "no JDK found ($javac). Install JDK 17 or later, for example: apt-get install openjdk-17-jdk-headless"
  found=$("$javac" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p')
  [[ -n $found && $found -ge 17 ]] ||
    die "JDK 17 or later is needed, '$javac -version' says ${found:-nothing}. Set JAVA_HOME to one."
}

check_maven() {
  command -v mvn >/dev/null || die "no Maven found (mvn). Install it, for example: apt-get install maven"
}

check_native_tools() {
  command -v cc >/dev/null || die "no C compiler found (cc). Install one, for example: apt-get install gcc libc6-dev"
  command -v cargo >/dev/null ||
    die "no Rust found (cargo). Install rustup from https://rustup.rs;" \
      "it then takes the version in rust-toolchain.toml by itself"
  local wanted found
  wanted=$(sed -n 's/^channel *= *"\(.*\)"/\1/p' "$root/rust-toolchain.toml")
  found=$(cd "$root/native" && cargo --version | cut -d ' ' -f 2) || die "cargo does not start; see the message above"
  [[ $(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1) == "$wanted" ]] ||
    die "Rust $wanted or later is needed, found $found. With rustup the right one is taken by itself"
}

# --- Build --------------------------------------------------------------------------------------------------------

maven() { (cd "$root/jvm" && mvn -B -ntp "$@"); }

# newer_than STAMP PATH…: whether a file or folder below the paths changed after STAMP, or there is no STAMP.
newer_than() {
  local stamp=$1
  shift
  [[ ! -e $stamp ]] || [[ -n $(find "$@" -name target -prune -o -newer "$stamp" -print -quit) ]]
}

native_sources() {
  printf '%s\n' "$root"/native/{crates,Cargo.toml,Cargo.lock,.cargo} "$root/rust-toolchain.toml" \
    "$root/tools/lib/native.sh"
}

jvm_sources() {
  local module
  printf '%s\n' "$root"/{LICENSE,NOTICE,THIRD-PARTY.txt,sbom.cdx.json,jvm/pom.xml}
  for module in java8 native-bridge doctor advisor comet-api spark sql sql-scala-2.12 dist bench; do
    printf '%s\n' "$root/jvm/$module/pom.xml"
    if [[ -d $root/jvm/$module/src ]]; then printf '%s\n' "$root/jvm/$module/src"; fi
  done
}

build_jars() {
  check_java
  check_maven
  prepare_ucx "${native_machines[@]}"
  prepare_gpu_kernels
  step build-jvm maven install -pl .,java8,native-bridge,doctor,advisor,comet-api,spark,sql,sql-scala-2.12,dist,bench \
    -Dmaven.test.skip=true || exit 1
  put_in_place "$root/jvm/dist/target/sluice-$version.jar" "$jar"
  put_in_place "$root/jvm/bench/target/sluice-bench.jar" "$bench_jar"
}

# put_in_place FROM TO: in one step, so that who runs the old file keeps it and nobody sees half of the new one.
put_in_place() { cp "$1" "$2.new" && mv "$2.new" "$2"; }

# Builds what is out of date, while no other ./sluice builds in this checkout.
build_all() { with_build_lock build_out_of_date; }

# A stamp carries the time at which its build began, so that a source that is saved meanwhile is built next time.
build_out_of_date() {
  local started=$build/started.$$ sources
  mkdir -p "$build"
  touch "$started"
  mapfile -t sources < <(native_sources)
  if newer_than "$build/native.stamp" "${sources[@]}" || [[ ! -e $native_home/linux-$host_machine ]] ||
    ! are_machines_linked; then
    note "Building (logs in build/logs)"
    link_machines
    cp -p "$started" "$build/native.stamp"
  fi
  mapfile -t sources < <(jvm_sources)
  if newer_than "$build/jvm.stamp" "${sources[@]}" "$build/native.stamp" || [[ ! -e $jar || ! -e $bench_jar ]]; then
    build_jars
    cp -p "$started" "$build/jvm.stamp"
  fi
  rm -f "$started"
}

# --- Spark lines --------------------------------------------------------------------------------------------------

# line_of VERSION: 3.5 -> 3.5.8-2.12, 3.5.7 -> 3.5.7-2.12, 3.5.8-2.13 -> itself.
line_of() {
  local line
  for line in "${all_lines[@]}"; do
    if [[ $line == "$1" || $line == "$1"-* || $line == "$1".* ]]; then
      printf '%s' "$line"
      return
    fi
  done
  case $1 in
    *.*.*-2.1[23]) printf '%s' "$1" ;;
    3.[3-5].*) printf '%s-2.12' "$1" ;;
    4.*.*) printf '%s-2.13' "$1" ;;
    *) die "'$1' is not a Spark version that Sluice supports. Known lines: ${all_lines[*]}" ;;
  esac
}

copy_spark_jars() {
  maven -f spark-home/pom.xml package -Dspark.version="${1%-*}" -Dscala.binary.version="${1##*-}"
}

# spark_home LINE: prints a folder whose jars/ has that Spark, made once from the Maven repository.
spark_home() {
  local line=$1 home=$build/spark-home/$1
  mkdir -p "$build/spark-home"
  check_flock
  (
    # Two commands may ask for the same line at once.
    flock 9
    if [[ ! -e $home/.complete || $root/jvm/spark-home/pom.xml -nt $home/.complete ]]; then
      rm -rf "$home"
      check_java
      check_maven
      step "spark-$line" copy_spark_jars "$line" || exit 1
      touch "$home/.complete"
    fi
  ) 9>"$build/spark-home/.lock"
  printf '%s\n' "$home"
}

# The texts are in the test jar that Spark publishes.
unpack_tpcds_queries() {
  maven -f tpcds-queries/pom.xml package -Dspark.version="${default_line%-*}" \
    -Dscala.binary.version="${default_line##*-}" -Doutput="$1"
}

# tpcds_queries FOLDER: puts the texts of TPC-DS's queries into FOLDER/tpcds, one file each, if they are not there.
tpcds_queries() {
  local folder=$1
  mkdir -p "$folder"
  check_flock
  (
    flock 9
    if [[ ! -e $folder/.complete || $root/jvm/tpcds-queries/pom.xml -nt $folder/.complete ]]; then
      check_java
      check_maven
      step tpcds-queries unpack_tpcds_queries "$folder" || exit 1
      touch "$folder/.complete"
    fi
  ) 9>"$folder/.lock"
}

# --- Commands -----------------------------------------------------------------------------------------------------

# Folders of earlier bench processes: one that failed leaves its executors' logs, one that was killed its shuffle files.
remove_stale_runs() {
  local folder
  for folder in "$build"/run/*; do
    if [[ -d $folder ]] && ! kill -0 "${folder##*-}" 2>/dev/null; then rm -rf "$folder"; fi
  done
}

# The Java program behind bench, demo, report and figures; it starts the Spark processes itself.
run_bench_program() {
  local terminal=0 commit
  if [[ -t 2 ]]; then terminal=1; fi
  build_all
  remove_stale_runs
  if commit=$(git -C "$root" describe --always --dirty=+ 2>/dev/null); then export SLUICE_COMMIT=$commit; fi
  SLUICE_ROOT=$root SLUICE_JAR=$jar SLUICE_TERMINAL=$terminal \
    exec "$(java_command java)" -Xmx256m -jar "$bench_jar" "$@"
}

command_build() {
  case ${1:-} in
    '') build_all && note "Built $jar" ;;
    --native-only) with_build_lock build_native "$host_machine" ;;
    *) die "build takes --native-only or nothing, not '$1'" ;;
  esac
}

build_perftest() {
  prepare_ucx "$host_machine"
  step build-perftest cargo_native build --release --locked -p sluice-perftest || exit 1
}

# A program of its own, so that a node needs no Java for it.
command_perftest() {
  check_native_tools
  with_build_lock build_perftest
  if has_ucx "$host_machine"; then
    local ucx=$ucx_home/wheel-$host_machine/libucx
    export SLUICE_UCX_LIBRARY=${SLUICE_UCX_LIBRARY:-$ucx/lib}
    chmod +x "$ucx/bin/ucx_perftest"
    export SLUICE_UCX_PERFTEST=${SLUICE_UCX_PERFTEST:-$ucx/bin/ucx_perftest}
  fi
  exec "$root/native/target/release/sluice-perftest" "$@"
}

build_gpu() { step build-gpu cargo_native build --release --locked -p sluice-gpu-bench || exit 1; }

gpu_pack=$build/gpu/pack

# The simulated driver by a build of its own: one of tests leaves it where only they look.
build_gpu_tests() {
  cargo_native build --locked -p sluice-cuda-sim &&
    cargo_native test --locked --no-run --message-format=json-render-diagnostics -p sluice-cuda -p sluice-cuda-sim \
      -p sluice-gpu-mem -p sluice-gpu-engine -p sluice-gpu-bench
}

# The programs of tests that cargo says it has, one a line: name, tab, path. FILE has its messages.
test_programs() {
  sed -n 's/.*"name":"\([^"]*\)".*"test":true},"features".*"executable":"\([^"]*\)".*/\1\t\2/p' "$1"
}

# All that tools/gpu-run needs, in build/gpu/pack: programs, the simulated driver, and the kernels for GPUs and for this
# machine. About 20 MB.
pack_gpu() {
  local new=$build/gpu/pack.new program path
  build_gpu
  step build-gpu-tests build_gpu_tests || exit 1
  prepare_gpu_kernels
  rm -rf "$new"
  mkdir -p "$new/kernels"
  cp "$root/native/target/release/sluice-gpu" "$root/native/target/debug/libsluice_cuda_sim.so" "$new/"
  while IFS=$'\t' read -r program path; do cp "$path" "$new/test-$program"; done \
    < <(test_programs "$logs/build-gpu-tests.log")
  [[ -e $new/test-gpu_engine ]] || die "cargo named no program of tests; see build/logs/build-gpu-tests.log"
  step strip-gpu-pack strip_libraries "$new"/test-* "$new/sluice-gpu" "$new/libsluice_cuda_sim.so" || exit 1
  cp "$gpu_kernels_home"/jar/*.cubin "$gpu_kernels_home"/jar/*.ptx "$new/kernels/" 2>/dev/null || rm -r "$new/kernels"
  if command -v "${CXX:-c++}" >/dev/null; then
    step build-gpu-kernels-host compile_host_kernels "$new/kernels-host.so" || exit 1
  fi
  git -C "$root" describe --always --dirty=+ >"$new/commit.txt" 2>/dev/null || rm -f "$new/commit.txt"
  rm -rf "$gpu_pack"
  mv "$new" "$gpu_pack"
}

# With a GPU and without; the picture and the figures go below build/gpu.
command_gpu() {
  local program=$root/native/target/release/sluice-gpu files=$build/gpu
  check_native_tools
  case $* in
    '')
      with_build_lock pack_gpu
      exec "$root/tools/gpu-run" "$gpu_pack" "$files"
      ;;
    pack)
      with_build_lock pack_gpu
      note "Made $gpu_pack. On a machine with a GPU, in a checkout: tools/gpu-run build/gpu/pack RESULTS"
      return
      ;;
    streams) set -- streams --picture "$files/streams.svg" --json "$files/streams.json" ;;
    figures) set -- figures --json "$files/figures.json" ;;
    ucx)
      with_build_lock prepare_ucx "$host_machine"
      if has_ucx "$host_machine"; then
        export SLUICE_UCX_LIBRARY=${SLUICE_UCX_LIBRARY:-$ucx_home/linux-$host_machine}
      fi
      set -- ucx --json "$files/ucx.json"
      ;;
  esac
  with_build_lock build_gpu
  exec "$program" "$@"
}

# In a virtual machine, for which it brings QEMU, kernel and UCX.
command_rdma_test() {
  check_native_tools
  command -v python3 >/dev/null || die "rdma-test needs python3"
  exec "$root/tools/rdma-test" "$@"
}

# A test of the transport over RDMA, in the log of the same name; skipped with the reason where it cannot run.
rdma_tests() {
  local status=0
  if ! command -v python3 >/dev/null; then
    skip test-rdma 'no python3'
    return
  fi
  "$root/tools/rdma-test" --prepare >"$logs/prepare-rdma.log" 2>&1 </dev/null || status=$?
  if ((status == 77)); then
    skip test-rdma "$(tail -n 1 "$logs/prepare-rdma.log")"
  else
    check test-rdma "$root/tools/rdma-test" --long
  fi
}

# Fuzzing by coverage, on stable Rust: cargo builds the targets with LLVM's coverage counters, libFuzzer comes with the
# crate libfuzzer-sys. The target is named, so that build scripts get no counters. Not --locked: the lock file follows
# the workspace's dependencies, which change without it.
fuzz_coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares"

build_fuzz() {
  local host target_dir=$root/native/target/fuzz
  host=$(cd "$root/native" && rustc -vV | sed -n 's/^host: //p') &&
    (cd "$root/native/fuzz/engine" &&
      RUSTFLAGS=$fuzz_coverage CARGO_TARGET_DIR=$target_dir cargo build --release --target "$host") &&
    cp "$target_dir/$host/release/sluice-fuzz-engine" "$build/fuzz/engine"
}

fuzz_targets() {
  local folder
  for folder in "$root"/native/fuzz/corpus/*/; do basename "$folder"; done
}

# run_fuzz TARGET SECONDS: what it learns stays in build/fuzz/TARGET for the next time; the committed corpus is only
# read.
run_fuzz() {
  mkdir -p "$build/fuzz/$1" &&
    SLUICE_FUZZ_TARGET=$1 "$build/fuzz/engine" -max_total_time="$2" -max_len=8192 -timeout=20 -rss_limit_mb=2048 \
      -print_final_stats=1 -artifact_prefix="$build/fuzz/failed-$1-" "$build/fuzz/$1" "$root/native/fuzz/corpus/$1"
}

command_fuzz() {
  local minutes=10 targets=() target failed=()
  while (($#)); do
    case $1 in
      --minutes)
        [[ ${2:-} =~ ^[1-9][0-9]{0,4}$ ]] || die "--minutes takes a number from 1 to 99999, not '${2:-}'"
        minutes=$2
        shift
        ;;
      -*) die "fuzz takes --minutes N and names of targets, not '$1'" ;;
      *)
        [[ -d $root/native/fuzz/corpus/$1 ]] || die "no fuzz target '$1'; there are: $(fuzz_targets | xargs)"
        targets+=("$1")
        ;;
    esac
    shift
  done
  if ! ((${#targets[@]})); then mapfile -t targets < <(fuzz_targets); fi
  check_native_tools
  command -v c++ >/dev/null ||
    die "no C++ compiler found (c++), which libFuzzer needs. Install one, for example: apt-get install g++"
  mkdir -p "$build/fuzz"
  with_build_lock step build-fuzz build_fuzz || exit 1
  for target in "${targets[@]}"; do
    step "fuzz-$target" run_fuzz "$target" $((minutes * 60 / ${#targets[@]})) || failed+=("$target")
  done
  ((${#failed[@]})) || return 0
  note "The inputs are $build/fuzz/failed-<target>-…." \
    "To see one fail in a test, copy it to native/fuzz/corpus/<target>/found-<what>"
  die "FAILED: ${failed[*]} (cd native && cargo test -p sluice-fuzz then runs it)"
}

# command_conf [KEY=VALUE…]: with the application's settings, so that the memory is that of its executors.
# command_conf --from FILE …: the translation of a predecessor's file.
command_conf() {
  local home
  if [[ ${1:-} == -* ]]; then
    translate_conf "$@"
  fi
  build_all
  recommended_settings
  home=$(spark_home "$default_line")
  printf '\n# Memory outside the heap, for an application with the settings: %s\n' "${*:-(none given; conf KEY=VALUE…)}"
  "$(java_command java)" -cp "$jar:$home/jars/*" io.sluice.spark.conf.MemoryLimitReport "$@" 2>/dev/null | sed 's/^/# /'
}

translate_conf() {
  local home
  build_all
  home=$(spark_home "$default_line")
  # With an address, Spark does not look for one, and does not warn.
  SPARK_LOCAL_IP=127.0.0.1 exec "$(java_command java)" -Xmx256m -cp "$jar:$home/jars/*" \
    io.sluice.spark.migration.TranslateConf "$@"
}

# Brings the sources of both halves into the form that test checks.
command_format() {
  check_java
  check_maven
  step format-rust format_rust
  step format-java maven net.revelc.code.formatter:formatter-maven-plugin:format
  step format-comments comments_of_sources
}

# format_rust [--check]: in all workspaces; verification and the fuzzing engine have their own.
format_rust() {
  local manifest
  for manifest in Cargo.toml verify/Cargo.toml fuzz/engine/Cargo.toml; do
    cargo_native fmt --manifest-path "$manifest" --all "$@" || return
  done
}

# comments_of_sources [--check]: wraps the comments that are too long, or says which lines are.
comments_of_sources() {
  local sources
  mapfile -t sources < <(cd "$root" && git ls-files '*.java' '*.rs' '*.scala' '*.py' sluice .ci/run tools ':!*/go.sum')
  (cd "$root" && python3 tools/lib/wrap_comments.py "$@" "${sources[@]}")
}

# How to use Sluice, as people copy it; test-pyspark runs with the first paragraph.
recommended_settings() {
  cat <<TEXT
# Spark 4.0 and later: add to spark-submit, spark-shell, spark-sql or pyspark
  --jars $jar \\
  --conf spark.plugins=io.sluice.spark.SluicePlugin \\
  --conf spark.shuffle.manager=io.sluice.spark.SluiceShuffleManager

# Spark 3.3 to 3.5 (and 4.x): the jar must be at the same path on the driver and on every executor's machine
  --conf spark.driver.extraClassPath=$jar \\
  --conf spark.executor.extraClassPath=$jar \\
  --conf spark.plugins=io.sluice.spark.SluicePlugin \\
  --conf spark.shuffle.manager=io.sluice.spark.SluiceShuffleManager

# The same for every application, as lines of conf/spark-defaults.conf
spark.driver.extraClassPath    $jar
spark.executor.extraClassPath  $jar
spark.plugins                  io.sluice.spark.SluicePlugin
spark.shuffle.manager          io.sluice.spark.SluiceShuffleManager
TEXT
}

# The jar says it itself, as it does on a node that has nothing but the jar.
command_doctor() {
  build_all
  exec "$(java_command java)" -jar "$jar" doctor "$@"
}

# Like the doctor: the jar does it. Its memory is bounded whatever the logs' size.
command_hibench() {
  command -v python3 >/dev/null || die "hibench needs python3"
  check_java
  exec python3 "$root/tools/hibench/hibench.py" "$@"
}

command_advise() {
  local terminal=0
  if [[ -t 2 ]]; then terminal=1; fi
  build_all
  SLUICE_TERMINAL=$terminal exec "$(java_command java)" -Xmx1g -jar "$jar" advise "$@"
}

# Pictures of the tab of an application that runs, of one that fell back, and of a History Server.
command_pictures() {
  local home
  prepare_browser || die "there is no browser: it needs npm, and x86_64"
  build_all
  home=$(spark_home "$default_line")
  step pictures system_tests "$default_line" "$home" -Dtest=UiPicturesTest -Dsluice.writeDocs=true || exit 1
  note "Look at docs/images/ui-*.png"
}

# Results of bench begin with a bracket; event logs are folders, compressed, or begin with a brace.
is_event_log() {
  local first
  [[ -d $1 ]] && return 0
  [[ -f $1 ]] && first=$(head -c 1 -- "$1" | tr -d '\0') && [[ $first != '[' ]]
}

# command_report ARGUMENTS…: of results by the bench program; of event logs by the jar, with Spark's classes.
command_report() {
  local argument logs=0 results=0 home terminal=0 skip=0
  for argument in "$@"; do
    if ((skip)); then
      skip=0
    elif [[ $argument == -o || $argument == --output || $argument == --chart ]]; then
      skip=1
    elif is_event_log "$argument"; then
      logs=1
    elif [[ $argument != -* ]]; then
      results=1
    fi
  done
  ((logs)) || run_bench_program report "$@"
  ((results == 0)) || die "report takes results of bench or event logs, not both at once"
  if [[ -t 2 ]]; then terminal=1; fi
  build_all
  home=$(spark_home "$default_line")
  SLUICE_TERMINAL=$terminal SPARK_LOCAL_IP=127.0.0.1 exec "$(java_command java)" -Xmx1g \
    -cp "$jar:$home/jars/*" io.sluice.Main report "$@"
}

failed_steps=()
# Of Spark's own suites those that failed beside other tests and then ran alone.
passed_alone=
skipped_steps=()
check() { if is_asked_for "$1"; then step "$@" || failed_steps+=("$1"); fi; }

# Patterns of the names of the steps to run (--only); all of them if there are none.
only_steps=()

# is_asked_for STEP. Remembers which patterns had a step.
is_asked_for() {
  local pattern
  if ((${#only_steps[@]} == 0)); then return 0; fi
  for pattern in "${only_steps[@]}"; do
    # shellcheck disable=SC2053 # a pattern
    if [[ $1 == $pattern ]]; then
      printf '%s\n' "$pattern" >>"$logs/asked-steps"
      return 0
    fi
  done
  return 1
}

# The patterns of --only that no step had.
patterns_without_step() {
  local pattern
  for pattern in "${only_steps[@]}"; do
    if ! grep -q -s -x -F -e "$pattern" "$logs/asked-steps"; then printf ' %s' "$pattern"; fi
  done
}

declare -A begun_steps=()

# begin NAME COMMAND…: starts a check beside those that follow; finish NAME waits for it and shows what came of it.
begin() {
  if ! is_asked_for "$1"; then return; fi
  mkdir -p "$logs"
  step "$@" 2>"$logs/$1.outcome" &
  begun_steps[$1]=$!
}

finish() {
  if [[ -z ${begun_steps[$1]:-} ]]; then return; fi
  wait "${begun_steps[$1]}" || failed_steps+=("$1")
  cat "$logs/$1.outcome" >&2
}

# The finished jar on one Spark line, with workers and executors of that line. What depends on no line (tagged once) is
# tested on the default one alone; what depends little on it (tagged deep) is left out where a caller says so.
# system_tests LINE HOME MAVEN-ARGUMENTS…
system_tests() {
  local line=$1 home=$2 elsewhere=()
  shift 2
  if [[ $line != "$default_line" ]]; then elsewhere=(-DexcludedGroups=once); fi
  SPARK_HOME=$home SPARK_SCALA_VERSION=${line##*-} SPARK_LOCAL_IP=127.0.0.1 maven verify -pl system-tests \
    -Dspark.version="${line%-*}" -Dscala.binary.version="${line##*-}" -Dsluice.jar="$jar" "${elsewhere[@]}" "$@"
}

# The same on another Java. Classes of the tests are made for Java 17, so older ones get them rewritten.
system_tests_on_java() {
  local line=$1 home=$2 java=$3 rewritten=()
  shift 3
  if ((java < 17)); then rewritten=(-Dtests.rewriteFor="$java"); fi
  system_tests "$line" "$home" -Dtests.java="$java" -Dtests.javaHome="$(java_home "$java")" "${rewritten[@]}" "$@"
}

# The short test (tagged everyLine) on one line of each version of Spark that is not tested in full; --all-spark has the
# other lines.
every_line_tests() {
  local line home tested=" $* "
  for line in "${all_lines[@]}"; do
    if [[ $tested == *" ${line%.*-*}."* ]]; then continue; fi
    tested+="$line "
    home=$(spark_home "$line")
    check "test-short-$line" system_tests "$line" "$home" -Dgroups=everyLine
  done
}

# java_tests LINE/JAVA MAVEN-ARGUMENTS…: on another Java, which is skipped by name where it cannot be had.
java_tests() {
  local line=${1%/*} java=${1#*/} home
  shift
  if ! is_asked_for "test-java$java-$line"; then return; fi
  if prepare_java "$java"; then
    home=$(spark_home "$line")
    check "test-java$java-$line" system_tests_on_java "$line" "$home" "$java" "$@"
  else
    skip "test-java$java-$line" "no Java $java; SLUICE_JAVA_$java=<its home> names one"
  fi
}

# The system tests on one line, with command_test's choices.
line_tests() {
  local line=$1 home arguments=()
  if ! is_asked_for "test-spark-$line"; then return; fi
  home=$(spark_home "$line")
  if ((all)); then prepare_neighbours "$line" || failed_steps+=("neighbours-$line"); fi
  if [[ $line != "$default_line" ]]; then arguments=("${elsewhere[@]}"); fi
  check "test-spark-$line" system_tests "$line" "$home" "${arguments[@]}" "${long_tests[@]}"
}

# Every line but the default one, and other Javas on them: the classes and logs of a line's tests are in one folder, so
# those of a line never run beside each other.
other_lines_tests() {
  local line pair
  for line in "${lines[@]}"; do
    if [[ $line != "$default_line" ]]; then line_tests "$line"; fi
  done
  every_line_tests "${lines[@]}"
  for pair in "${javas[@]}"; do
    if [[ ${pair%/*} != "$default_line" ]]; then java_tests "$pair" "${java_subset[@]}"; fi
  done
}

# What runs beside the tests of the default line, as soon as Spark's own suites have ended: either alone leaves a core
# idle much of the time, while Spark's processes start. With --all only the other lines do, because tests that set up
# clusters and networks must be alone on the machine. tests_beside ALL
tests_beside() {
  local all=$1
  if ((!all)); then tpcds_test; fi
  other_lines_tests
  if ((!all)); then python_tests 0; fi
}

# Starts tests_beside; finish_tests_beside waits. begin_tests_beside ALL
begin_tests_beside() {
  (
    failed_steps=() skipped_steps=()
    while kill -0 "${begun_steps[test-spark-own-suites]:-}" 2>/dev/null; do sleep 1; done
    tests_beside "$1"
    declare -p failed_steps skipped_steps >"$logs/tests-beside.steps"
  ) 2>"$logs/tests-beside.outcome" &
  begun_steps[tests-beside]=$!
}

finish_tests_beside() {
  local failed=("${failed_steps[@]}") skipped=("${skipped_steps[@]}")
  failed_steps=(tests-beside) skipped_steps=()
  if wait "${begun_steps[tests-beside]}"; then
    # shellcheck source=/dev/null
    source <(sed 's/^declare -a /declare -ga /' "$logs/tests-beside.steps")
  fi
  failed_steps=("${failed[@]}" "${failed_steps[@]}") skipped_steps=("${skipped[@]}" "${skipped_steps[@]}")
  cat "$logs/tests-beside.outcome" >&2
}

# skip NAME REASON: a check that cannot run here, said now and in the summary.
skip() {
  if ! is_asked_for "$1"; then return; fi
  printf '  %-28s skipped: %s\n' "$1" "$2" >&2
  skipped_steps+=("$1 ($2)")
}

# On the default line in another mode. mode_tests MODE HOME MAVEN-ARGUMENTS…
mode_tests() {
  local mode=$1 home=$2
  shift 2
  SPARK_HOME=$home SPARK_SCALA_VERSION=${default_line##*-} SPARK_LOCAL_IP=127.0.0.1 maven verify -pl system-tests \
    -Dspark.version="${default_line%-*}" -Dscala.binary.version="${default_line##*-}" -Dsluice.jar="$jar" \
    -Dsluice.mode="$mode" "$@"
}

# The modes that are not the default.
other_modes=(UCX RDMA CACHE_ONLY)

# Arguments of foreign_tests.
without_long_suites=(-Dforeign.excludedTags=io.sluice.foreign.InAllSuites -Dforeign.longTests=true
  -Dforeign.skipPlansOfSpark=false)
all_own_suites=(-Dforeign.excludedTags=none -Dforeign.longTests=true -Dforeign.skipPlansOfSpark=false
  -Dforeign.skipDecommission=false)

# In each of them every test, with Spark's own suites beside them; this takes 45 minutes.
whole_mode_tests() {
  local home=$1 mode
  for mode in "${other_modes[@]}"; do
    begin "test-own-suites-$mode" foreign_tests "$home" "${without_long_suites[@]}" -Dforeign.skipPlansOfSpark=true \
      -Dsluice.mode="$mode"
    check "test-mode-$mode" mode_tests "$mode" "$home"
    finish "test-own-suites-$mode"
  done
}

# Spark's own suites, which are published for the default line, on our manager; without those that repeat another one
# over Netty's other ways and those that take long, unless -Dforeign.excludedTags says otherwise.
# foreign_tests HOME MAVEN-ARGUMENTS…
foreign_tests() {
  local home=$1 reports=$root/jvm/system-tests/foreign/target/surefire-reports
  shift
  rm -rf "$reports"
  SPARK_HOME=$home SPARK_SCALA_VERSION=${default_line##*-} SPARK_LOCAL_IP=127.0.0.1 maven verify \
    -f system-tests/foreign/pom.xml -Dsluice.jar="$jar" "$@" || return
  # A run that finds no suite succeeds.
  compgen -G "$reports/TEST-*Suites*.xml" >/dev/null || die "no suite of Spark's own was run"
}

# The suites of the last foreign_tests in which tests failed, with commas between them; nothing if not all suites ran to
# their end. Those that have a run of their own in the pom (Decommission, below Spark's own plans) are not among them.
failed_own_suites() {
  local report suites=() log=$logs/test-spark-own-suites.log
  local reports=$root/jvm/system-tests/foreign/target/surefire-reports
  if ! grep -q '^Suites: completed .*aborted 0' "$log" || grep -q '^Suites: .*aborted [1-9]' "$log"; then return; fi
  while read -r report; do
    report=${report##*/TEST-}
    if [[ $report != *Decommission.xml ]]; then suites+=("${report%.xml}"); fi
  done < <(grep -l -s -E '(errors|failures)="[1-9]' "$reports"/TEST-*.xml)
  (IFS=,; printf '%s' "${suites[*]}")
}

# Waits for Spark's own suites, begun beside other tests. Many of their tests have time limits that suit an idle
# machine, so suites that failed run once more, alone; the first failure stays in the output and the summary names them.
# finish_own_suites HOME MAVEN-ARGUMENTS…, as they began with
finish_own_suites() {
  local failed
  if [[ -z ${begun_steps[test-spark-own-suites]:-} ]]; then return; fi
  if wait "${begun_steps[test-spark-own-suites]}"; then
    cat "$logs/test-spark-own-suites.outcome" >&2
    return
  fi
  cat "$logs/test-spark-own-suites.outcome" >&2
  failed=$(failed_own_suites)
  if [[ -z $failed ]]; then
    failed_steps+=(test-spark-own-suites)
    return
  fi
  passed_alone=$failed
  note "These of Spark's own suites failed beside other tests and run again alone: $failed"
  check test-spark-own-suites-alone foreign_tests "$@" "-Dsuites=$failed"
}

# What keeps this machine from running the PySpark tests; nothing when it can.
pyspark_obstacle() {
  if ! command -v python3 >/dev/null; then
    printf 'no python3'
  elif ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    printf 'Python 3.10 or later is needed, found %s' "$(python3 --version)"
  elif ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    printf 'python3 makes no virtual environments; what it lacks is, for example: apt-get install python3-venv'
  fi
}

# The virtual environment of the PySpark tests, made again whenever its requirements change.
install_pyspark() {
  rm -rf "$pyspark_home"
  python3 -m venv "$pyspark_home" &&
    "$pyspark_home/bin/pip" install --disable-pip-version-check --requirement "$pyspark_sources/requirements.txt" &&
    cp "$pyspark_sources/requirements.txt" "$pyspark_home/.complete"
}

prepare_pyspark() {
  if cmp -s "$pyspark_sources/requirements.txt" "$pyspark_home/.complete"; then return; fi
  step install-pyspark install_pyspark
}

# The finished jar below PySpark as pip installs it, which brings a Spark of its own. pyspark_program TESTS
pyspark_program() {
  SLUICE_CONF=$(recommended_settings) "$pyspark_home/bin/python" "$pyspark_sources/$1.py"
}

# Hadoop's test kit with a YARN cluster, in build/yarn/jars.
copy_yarn_kit() { maven -f system-tests/yarn/pom.xml package; }

# On a YARN cluster of this machine.
yarn_tests() {
  local log=$logs/install-yarn-kit.log
  if [[ -d $build/yarn/jars ]] || copy_yarn_kit >"$log" 2>&1 </dev/null; then
    SLUICE_TESTS=all check test-yarn pyspark_program test_yarn
  else
    skip test-yarn "Hadoop's test kit cannot be had; see $log"
  fi
}

image_tools=$build/image-tools

# buildah and mmdebstrap, with what they need and this machine lacks, unpacked into build.
install_image_tools() {
  rm -rf "$image_tools"
  debian_packages_with_needs "$image_tools" buildah mmdebstrap && touch "$image_tools/.complete"
}

# The images of docs/deployment/images, built and tried without a Docker daemon, with the Spark that PySpark brings.
image_tests() {
  local status=0 log=$logs/test-images.log home
  if ! is_asked_for test-images; then return; fi
  if ((EUID == 0)) && ! { command -v buildah && command -v mmdebstrap; } >/dev/null; then
    if [[ -e $image_tools/.complete ]] || install_image_tools >"$logs/install-image-tools.log" 2>&1 </dev/null; then
      export SLUICE_IMAGE_TOOLS=$image_tools
    fi
  fi
  home=$("$pyspark_home/bin/python" -c 'import pyspark; print(pyspark.__path__[0])')
  "$root/tools/image-test" "$jar" "$home" >"$log" 2>&1 </dev/null || status=$?
  case $status in
    0) note "  test-images: $(grep -E '^skipped|built and tried' "$log" | paste -sd ';')" ;;
    77) skip test-images "$(tail -n 1 "$log")" ;;
    *) show_failure "$log" >&2; failed_steps+=(test-images) ;;
  esac
}

# Dockerfiles and manifests of the guides, by BuildKit's parser and the types of Kubernetes' API.
deployment_files_test() {
  local files=("$root"/docs/deployment/images/Dockerfile.* "$root"/docs/deployment/kubernetes/*.yaml)
  if ! command -v go >/dev/null; then
    skip test-deployment-files 'no go'
  elif ! go -C "$root/tools/deployment" mod download >"$logs/install-deployment.log" 2>&1; then
    skip test-deployment-files "the types of Kubernetes' API cannot be had; see build/logs/install-deployment.log"
  else
    check test-deployment-files go -C "$root/tools/deployment" run . "${files[@]}"
    check test-deployment-files-refused go -C "$root/tools/deployment" test ./...
  fi
}

# The guide for Kubernetes on a control plane, whose programs are built of Go modules the first time: an hour of CPU.
control_plane_tests() {
  local status=0 log=$logs/build-control-plane.log name reason
  if ! is_asked_for test-control-plane; then return; fi
  python3 "$root/tools/control-plane/control_plane.py" --prepare >"$log" 2>&1 </dev/null || status=$?
  case $status in
    0) SLUICE_TESTS=all check test-control-plane pyspark_program test_control_plane ;;
    77) skip test-control-plane "$(tail -n 1 "$log")" ;;
    *) show_failure "$log" >&2; failed_steps+=(test-control-plane) ;;
  esac
  if ((status == 0)); then
    while IFS=$'\t' read -r name reason; do skip test-control-plane "$name: $reason"; done \
      < <(sed -n "s/^\(test_[a-z_]*\) .* skipped '\(.*\)'$/\1\t\2/p" "$logs/test-control-plane.log")
  fi
}

# pyspark_tests ALL: with Spark's servers and against Kubernetes' API if ALL is 1.
pyspark_tests() {
  local obstacle
  obstacle=$(pyspark_obstacle)
  if [[ -n $obstacle ]]; then
    skip test-pyspark "$obstacle"
    return
  fi
  prepare_pyspark || failed_steps+=(install-pyspark)
  if [[ -e $pyspark_home/.complete ]]; then
    if (($1)); then
      SLUICE_TESTS=all check test-pyspark pyspark_program test_pyspark
      check test-pyspark-servers pyspark_program test_servers
      SLUICE_TESTS=all check test-standalone pyspark_program test_standalone
      SLUICE_TESTS=all check test-hosts pyspark_program test_hosts
      yarn_tests
      SLUICE_TESTS=all check test-kubernetes pyspark_program test_kubernetes
      control_plane_tests
      image_tests
    else
      check test-pyspark quickly_compiled pyspark_program test_pyspark
    fi
  fi
}

# That the places of planted faults are there; where all is tested, models of threads for loom, AddressSanitizer, the
# faults that models and fuzz targets must find.
native_verification() {
  check test-rust-places "$root/tools/verify-native" places
  if (($1)); then
    check test-rust-models "$root/tools/verify-native" loom
    check test-rust-asan "$root/tools/verify-native" asan
    check test-rust-asan-all "$root/tools/verify-native" asan-all
    check test-rust-planted "$root/tools/verify-native" planted
  fi
}

tests_in_logs() {
  cat "$@" 2>/dev/null | awk '
    /^test result:/ { n += $4 }
    /Tests run: .*Skipped: [0-9]+$/ { split($0, part, /Tests run: |, Failures/); n += part[2] }
    /^Ran [0-9]+ tests in / { n += $2 }
    /Tests: succeeded / { split($0, part, /succeeded |, failed/); n += part[2] }
    END { print n + 0 }'
}

# The native half for the other machine that the jar has a library for.
other_machine_tests() {
  if [[ $host_machine == aarch64 ]]; then return; fi
  if [[ ! -e $native_home/linux-aarch64 ]]; then
    skip test-rust-aarch64 "no library was linked for it"
  elif prepare_qemu; then
    check test-rust-aarch64 aarch64_tests
  else
    skip test-rust-aarch64 "no qemu for it; it comes with apt-get (qemu-user-static, libc6-arm64-cross)"
  fi
}

command_test() {
  local lines=("$default_line" "$oldest_tested_line") all=0 all_modes=0 own_suites=()
  local java_subset=(-Dgroups=everyLine)
  local long_tests=() long_unit_tests=()
  # Without what compares with arrow-rs, which takes long to compile, and what measures GPUs.
  local short_rust_tests=(--exclude sluice-arrow-oracle --exclude sluice-gpu-bench) without_long_rust=(--skip in_all::)
  local elsewhere=(-DexcludedGroups=once,deep "-Dtest=$elsewhere_tests")
  local start=$SECONDS choice=
  if [[ ${1:-} == --all* ]]; then choice=$1; shift; fi
  if [[ ${1:-} == --only && $# == 2 ]]; then
    IFS=, read -r -a only_steps <<<"$2"
    if ((${#only_steps[@]} == 0)); then die "--only names no step; an example is --only 'test-soak*,test-tpcds'"; fi
    shift 2
  fi
  if (($#)); then
    die "test takes --all-spark, --all-modes, --all-suites, --all or nothing, and --only STEP,…, not '$1'"
  fi
  case $choice in
    '') ;;
    --all-spark) lines=("${all_lines[@]}") elsewhere=() own_suites=("${without_long_suites[@]}") ;;
    --all-modes) all_modes=1 own_suites=("${without_long_suites[@]}") ;;
    --all-suites) own_suites=("${all_own_suites[@]}") ;;
    --all)
      all=1 lines=("${all_lines[@]}") elsewhere=() all_modes=1 own_suites=("${all_own_suites[@]}")
      java_subset=(-DexcludedGroups=once)
      long_tests=(-Dsystemtests.inAll=true -Dsystemtests.executions=1000 -Dsystemtests.queries=544)
      long_unit_tests=(-Dunittests.inAll=true) short_rust_tests=() without_long_rust=()
      ;;
    *) die "test takes --all-spark, --all-modes, --all-suites, --all or nothing, not '$choice'" ;;
  esac
  if ((!all && !all_modes)); then linked_machines=("$host_machine"); fi
  build_all
  note "Testing (logs in build/logs)"
  rm -f "$logs"/test-*.log "$logs/asked-steps"
  source_checks
  check test-rust cargo_native test --locked --workspace --no-fail-fast "${short_rust_tests[@]}" -- \
    "${without_long_rust[@]}"
  native_verification "$all_modes"
  if ((all_modes)); then other_machine_tests; fi
  # The bench program's tests depend on no other module's, so they run beside those of the longest module.
  check test-jvm maven verify -T 2 -pl java8,native-bridge,doctor,advisor,comet-api,spark,bench "${long_unit_tests[@]}"
  spark_tests
  test_summary $((SECONDS - start)) "${lines[*]}"
}

source_checks() {
  if command -v shellcheck >/dev/null; then
    check test-script shellcheck -x "$root/sluice" "$root"/tools/lib/*.sh "$root/tools/cluster" \
      "$root/tools/gpu-run" "$root/tools/verify-native" "$root/tools/deny" "$root/.ci/run" \
      "$root/tools/hibench/bin/hadoop" "$root/tools/hibench/bin/python2"
  else
    skip test-script 'no shellcheck'
  fi
  check test-rust-format format_rust --check
  check test-java-format maven net.revelc.code.formatter:formatter-maven-plugin:validate
  if command -v python3 >/dev/null; then
    check test-line-lengths comments_of_sources --check
    check test-deny-java "$root/tools/deny-java"
    check test-tools python3 -m unittest discover --verbose -s "$root/tools/tests"
    if has_ucx "$host_machine"; then
      check test-third-party "$root/tools/third-party" --check
    else
      skip test-third-party 'no UCX in build/ucx, whose licence is looked at too'
    fi
    deny_test
  else
    skip test-line-lengths 'no python3'
    skip test-deny-java 'no python3'
    skip test-tools 'no python3'
    skip test-third-party 'no python3'
    skip test-deny 'no python3'
  fi
  site_tests
  check test-rust-lints cargo_native clippy --locked --workspace "${short_rust_tests[@]}" --all-targets -- -D warnings
  # With the UCX that goes into the jar; without it, the tests on UCX take the system's or say that they were skipped.
  if has_ucx "$host_machine"; then export SLUICE_UCX_LIBRARY=$ucx_home/linux-$host_machine; fi
}

# With a tool that comes from a package registry when it is used first.
deny_test() {
  if "$root/tools/deny" install >"$logs/install-deny.log" 2>&1 </dev/null; then
    check test-deny "$root/tools/deny"
  else
    skip test-deny 'cargo-deny cannot be installed; see build/logs/install-deny.log'
  fi
}

# What the documentation links to on other sites.
external_links_test() {
  local status=0 log=$logs/test-external-links.log
  if ! is_asked_for test-external-links; then return; fi
  "$root/tools/site" --external >"$log" 2>&1 </dev/null || status=$?
  case $status in
    0) note "  test-external-links: $(tail -n 1 "$log")" ;;
    77) skip test-external-links 'no network' ;;
    *) show_failure "$log" >&2; failed_steps+=(test-external-links) ;;
  esac
}

# The dashboard, by Grafana's own model of dashboards.
dashboard_test() {
  if ! is_asked_for test-dashboard; then return; fi
  if ! command -v go >/dev/null; then
    skip test-dashboard 'no go'
  elif ! go -C "$root/tools/dashboard" mod download >"$logs/install-dashboard.log" 2>&1; then
    skip test-dashboard "Grafana's model cannot be had; see build/logs/install-dashboard.log"
  else
    check test-dashboard go -C "$root/tools/dashboard" run . "$root/docs/monitoring/grafana-dashboard.json"
  fi
}

# The alerts, by Prometheus' own promtool: that they are read, and when they fire. Building promtool takes minutes, so
# only with --all, or where it is built already.
alerts_test() {
  local all=$1
  if ! is_asked_for test-alert-rules && ! is_asked_for test-prometheus-config && ! is_asked_for test-alerts; then
    return
  fi
  if ! ((all)) && [[ ! -x $build/promtool ]]; then
    skip test-alerts 'promtool is not built; --all builds it'
  elif ! command -v go >/dev/null; then
    skip test-alerts 'no go'
  elif ! go -C "$root/tools/alerts" build -tags remove_all_sd -o "$build/promtool" \
    github.com/prometheus/prometheus/cmd/promtool >"$logs/install-promtool.log" 2>&1; then
    skip test-alerts "promtool cannot be had; see build/logs/install-promtool.log"
  else
    check test-alert-rules "$build/promtool" check rules --lint=all --lint-fatal \
      "$root/docs/monitoring/prometheus-alerts.yml"
    check test-prometheus-config "$build/promtool" check config "$root/docs/monitoring/prometheus.yml"
    check test-alerts "$build/promtool" test rules "$root/tools/alerts/alerts-test.yml"
  fi
}

# The program behind bench and soak. bench_program COMMAND ARGUMENTS…
bench_program() {
  SLUICE_ROOT=$root SLUICE_JAR=$jar "$(java_command java)" -Xmx256m -jar "$bench_jar" "$@"
}

# quickly_compiled COMMAND…: with Java's first compiler alone, because what is tested is over before the second one's
# code has paid for its making. With --all nothing runs so.
quickly_compiled() {
  JDK_JAVA_OPTIONS='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData' "$@"
}

# Workloads on both engines, as demo and bench run them: that results are equal, not how fast. bench_once ARGUMENTS…
bench_once() {
  bench_program bench "$@" --warmups 0 --runs 1
}

# A driver without a GPU, and the kernels compiled for this machine, as the tests of Spark take them.
build_gpu_simulator() {
  local home=$build/gpu-simulator
  mkdir -p "$home/kernels" &&
    cargo_native build --locked -p sluice-cuda-sim &&
    put_in_place "$root/native/target/debug/libsluice_cuda_sim.so" "$home/libcuda.so.1" &&
    compile_host_kernels "$home/kernels.new" &&
    mv "$home/kernels.new" "$home/kernels/sm_90.cubin"
}

# The GPU kernels for this machine's CPU, as a module of the simulated driver. compile_host_kernels FILE
compile_host_kernels() {
  "${CXX:-c++}" -std=c++17 -O2 -shared -fPIC -fvisibility=hidden -I "$root/native/crates/cuda-sim/include" \
    "$root/native/crates/gpu-engine/kernels/host/kernels.cpp" -o "$1"
}

# What a free network would give, for a file of SQL and for a class of a jar (a program of ours, that runs the file),
# and on hosts with links; and the demo on such hosts.
potential_tests() {
  local sql=$root/bench/potential.sql log=$logs/cluster-check.log
  check test-potential bench_program bench --potential --sql "$sql"
  check test-potential-class bench_program bench --potential --class io.sluice.bench.driver.JobMain \
    --jar "$bench_jar" --arg sql --arg "$sql"
  if "$root/tools/cluster" check >"$log" 2>&1 </dev/null; then
    check test-potential-cluster bench_program bench --potential --sql "$sql" --cluster 2 --rate 1gbit
    check test-cluster-demo bench_program demo --cluster 3 --size 20m
    # With a slow host, and one that is away while blocks are read: equal results.
    check test-cluster-away bench_once repartition terasort --engines stock,sluice,sluice-ucx --rows 1000000 \
      --cluster 3 --rate 50mbit --slow-host w2=20mbit --away w3=5s --conf spark.executor.memory=1g
    # Beside other work no prediction is exact: this holds it to the order of magnitude.
    check test-potential-check "$root/tools/potential-check" --rounds 1 --most-off 60 \
      --json "$build/potential-check.json"
  else
    skip test-potential-cluster "$(tail -n 1 "$log")"
    skip test-cluster-demo "$(tail -n 1 "$log")"
    skip test-cluster-away "$(tail -n 1 "$log")"
    skip test-potential-check "$(tail -n 1 "$log")"
  fi
}

# interrupted_soak: a soak that is interrupted, as by Ctrl-C, leaves no process and no folder.
interrupted_soak() {
  local out=$logs/interrupted-soak.out pid end=$((SECONDS + 300))
  # In a process group of its own, which is interrupted as a whole; what scripts start in the background ignores that.
  SLUICE_ROOT=$root SLUICE_JAR=$jar setsid env --default-signal=INT "$(java_command java)" -Xmx256m -jar "$bench_jar" \
    soak --seed 1 >"$out" 2>&1 </dev/null &
  pid=$!
  until grep -q ' rows, ' "$out"; do
    if ! kill -0 "$pid" || ((SECONDS > end)); then
      echo "no program was over before the soak was to be interrupted; it said:"
      cat "$out"
      kill -KILL -- "-$pid"
      return 1
    fi
    sleep 1
  done
  kill -INT -- "-$pid"
  end=$((SECONDS + 90))
  while kill -0 -- "-$pid" 2>/dev/null; do
    if ((SECONDS > end)); then
      echo "processes of the interrupted soak after 90 s:"
      ps -o pid,stat,args -g "$pid" --sort pid
      kill -KILL -- "-$pid"
      return 1
    fi
    sleep 1
  done
  if compgen -G "$build/run/*-$pid"; then
    echo "the interrupted soak has left these folders"
    return 1
  fi
}

# With the choices of spark_tests. TPC-DS's queries on both engines: equal results. At less than scale 1 some divide by
# zero, on stock too.
tpcds_test() {
  local queries=("${some_queries[@]}" --scale 0.01 --partitions 16)
  if ((all)); then queries=(tpcds --scale 1); fi
  check test-tpcds $compiled bench_program bench "${queries[@]}" --check
}

# TPC-DS on tables of other forms. Without ANSI mode, queries that divide by zero at this scale have results, too.
tpcds_forms_tests() {
  local form
  for form in partitioned bucketed cbo; do
    check "test-tpcds-$form" bench_program bench tpcds --scale 0.1 --tables "$form" --check \
      --conf spark.sql.ansi.enabled=false
  done
}

# What users of Python run. python_tests ALL
python_tests() {
  pyspark_tests "$1"
  wheel_tests "$1"
}

# With the choices of command_test.
spark_tests() {
  local pair home javas=("${other_javas[@]}") compiled=quickly_compiled
  if ((all)); then javas+=("${middle_javas[@]}"); fi
  if ((all)); then compiled=; fi
  prepare_browser || skip test-pages-in-browser 'no browser: it needs npm, and x86_64'
  if command -v "${CXX:-c++}" >/dev/null; then
    check build-gpu-simulator build_gpu_simulator
  else
    skip test-simulated-gpu 'no C++ compiler'
  fi
  home=$(spark_home "$default_line")
  # Spark's own suites wait more than they compute, so they run beside what follows.
  begin test-spark-own-suites foreign_tests "$home" "${own_suites[@]}"
  check test-bench $compiled bench_once repartition terasort --rows 100000 --accounting
  if ((all)); then
    # Every workload on both engines: equal results.
    check test-bench-all $compiled bench_once all --rows 10000
    # That every block of such a job is read one-sidedly.
    if has_ucx "$host_machine"; then
      check test-bench-remote-read bench_once remote-read --rows 10000 --engines stock,sluice-ucx
    else
      skip test-bench-remote-read 'no UCX'
    fi
    potential_tests
  fi
  if ((all)); then
    tpcds_test
    tpcds_forms_tests
    # Random programs and faults, others every time, on the oldest tested line too.
    check test-soak bench_program soak --minutes 10
    check "test-soak-$oldest_tested_line" bench_program soak --minutes 10 --spark "$oldest_tested_line"
    check test-soak-each bench_program soak --each
    check test-soak-interrupted interrupted_soak
  fi
  begin_tests_beside "$all"
  line_tests "$default_line"
  for pair in "${javas[@]}"; do
    if [[ ${pair%/*} == "$default_line" ]]; then java_tests "$pair" "${java_subset[@]}"; fi
  done
  if ((all)); then python_tests 1; fi
  alerts_test "$all"
  if ((all)); then
    SLUICE_HOSTILE_MESSAGES=1000000 check test-rust-hostile cargo_native test --locked -p sluice-transport --lib \
      a_flood_of_hostile_messages_learns_nothing_and_takes_no_memory
    external_links_test
    site_in_browser_test
    check test-reproducible "$root/tools/reproducible-build"
    dashboard_test
    deployment_files_test
    check test-release release_tests
    rdma_tests
  fi
  if ((!all_modes)); then
    # The tests of what is particular to that mode (tagged UCX); the other modes are --all-modes'.
    check test-mode-UCX mode_tests UCX "$home" -Dgroups=UCX
  fi
  finish_tests_beside
  finish_own_suites "$home" "${own_suites[@]}"
  if ((all_modes)); then whole_mode_tests "$home"; fi
}

test_summary() {
  local tests without time="$(($1 / 60)) min $(($1 % 60)) s"
  tests=$(tests_in_logs "$logs"/test-*.log)
  without=$(patterns_without_step)
  if [[ -n $without ]]; then die "no step is called$without; build/logs of a whole run has their names"; fi
  if ((${#failed_steps[@]})); then
    die "FAILED: ${failed_steps[*]} ($tests tests ran in $time)"
  fi
  if [[ -n $passed_alone ]]; then printf "Passed alone, not beside other tests: %s\n" "$passed_alone"; fi
  printf 'All %d tests passed on Spark %s in %s.\n' "$tests" "$2" "$time"
  if ((${#skipped_steps[@]})); then printf 'Skipped: %s\n' "${skipped_steps[*]}"; fi
}

main() {
  local command=${1:-help}
  if (($#)); then shift; fi
  case $command in
    help | --help | -h) usage ;;
    build) command_build "$@" ;;
    wheel) command_wheel "$@" ;;
    release) command_release "$@" ;;
    conf) command_conf "$@" ;;
    perftest) command_perftest "$@" ;;
    gpu) command_gpu "$@" ;;
    rdma-test) command_rdma_test "$@" ;;
    fuzz) command_fuzz "$@" ;;
    doctor) command_doctor "$@" ;;
    site) command_site "$@" ;;
    pictures) command_pictures ;;
    advise) command_advise "$@" ;;
    hibench) command_hibench "$@" ;;
    format) command_format ;;
    test) command_test "$@" ;;
    cluster) exec "$root/tools/cluster" "$@" ;;
    report) command_report "$@" ;;
    bench | demo | figures | proof | soak) run_bench_program "$command" "$@" ;;
    tpcds-queries) # for the bench program: Spark's texts of TPC-DS's queries in FOLDER/tpcds
      (($# == 1)) || die "tpcds-queries takes a folder"
      tpcds_queries "$1"
      ;;
    spark-home) # for the bench program: prints the folder of a Spark version's jars
      (($# == 1)) || die "spark-home takes a Spark version"
      local line
      line=$(line_of "$1")
      spark_home "$line"
      ;;
    peer-jars) # for the bench program: prints the paths of the jars of another library for a Spark line
      (($# == 2)) || die "peer-jars takes a name and a Spark line"
      peer_jars "$1" "$2"
      ;;
    *) usage >&2; die "unknown command '$command'" ;;
  esac
}

linked_machines=("$host_machine"); build_all; if [[ -n ${NEIGHBOURS:-} ]]; then prepare_neighbours "$LINE"; fi; home=$(spark_home "$LINE"); system_tests "$LINE" "$home" "$@"
