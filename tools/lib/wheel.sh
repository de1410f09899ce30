# shellcheck shell=bash disable=SC2154
# The Python packages, wheel and sdist, and their tests; part of ./sluice, which has note, step, check, skip and $build.
# Nothing is installed outside build/.

wheel_home=$build/wheel
wheel_tools=$wheel_home/tools
wheel_dist=$wheel_home/dist
# The Pythons that the wheel is for; those of them that are here test it.
wheel_pythons=(3.9 3.10 3.11 3.12 3.13)
# The PySpark that still runs on the oldest of them.
old_pyspark=3.5.8
# Between it and the one of pyspark_tests; --all tests the wheel on them, too.
middle_pysparks=(4.0.2 4.1.1)
mypy_home=$build/mypy
jupyter_home=$build/jupyter

# The build backend is installed once, so later builds need no network.
install_wheel_tools() {
  rm -rf "$wheel_tools"
  python3 -m venv "$wheel_tools" &&
    "$wheel_tools/bin/pip" install --disable-pip-version-check --no-deps \
      --requirement "$root/python/requirements-build.txt" &&
    cp "$root/python/requirements-build.txt" "$wheel_tools/.complete"
}

prepare_wheel_tools() {
  if cmp -s "$root/python/requirements-build.txt" "$wheel_tools/.complete"; then return; fi
  step install-wheel-tools install_wheel_tools
}

# The time that files in packages bear, as seconds: the same that Maven gives to those in jars.
packaged_time() {
  date --utc --date="$(sed -n 's:.*<project.build.outputTimestamp>\(.*\)</.*:\1:p' "$root/jvm/pom.xml")" +%s
}

# Makes the packages of a copy of python/ that has the jar and the licence beside the sources.
build_wheel() {
  local source=$wheel_home/source package=$wheel_home/source/src/sluice_spark epoch
  epoch=$(packaged_time) || return 1
  rm -rf "$source" "$wheel_dist"
  mkdir -p "$source" "$wheel_dist" &&
    cp -r "$root"/python/{pyproject.toml,README.md,src,tests} \
      "$root"/{LICENSE,NOTICE,THIRD-PARTY.txt,sbom.cdx.json} "$source/" &&
    find "$source" -name __pycache__ -prune -exec rm -r {} + &&
    mkdir "$package/jar" && cp "$jar" "$package/jar/" &&
    (cd "$source" && SOURCE_DATE_EPOCH=$epoch "$wheel_tools/bin/python" -I -c "
import sys
from hatchling import build
print(build.build_sdist(sys.argv[1]), build.build_wheel(sys.argv[1]))" "$wheel_dist")
}

wheel_file() { printf '%s' "$wheel_dist/sluice_spark-$version-py3-none-any.whl"; }

# Builds the wheel and the sdist; what keeps this machine from it is an error.
command_wheel() {
  (($# == 0)) || die "wheel takes no arguments"
  local obstacle
  obstacle=$(pyspark_obstacle)
  [[ -z $obstacle ]] || die "the wheel needs python3 to build: $obstacle"
  build_all
  with_build_lock make_wheel
  note "Built $(wheel_file)" \
    "and $wheel_dist/sluice_spark-$version.tar.gz. To use it: pip install $(wheel_file)"
}

make_wheel() {
  prepare_wheel_tools || exit 1
  step build-wheel build_wheel || exit 1
}

# The program of that Python, or nothing: SLUICE_PYTHON_3_9=…, one on PATH, or pyenv's.
python_program() {
  local given=SLUICE_PYTHON_${1/./_} program
  for program in "${!given:-}" "$(command -v "python$1" || :)" "$(command -v python3 || :)" \
    "$HOME"/.pyenv/versions/"$1".*/bin/python; do
    if [[ -x $program && $("$program" -c 'import ensurepip, sys, venv; print("%d.%d" % sys.version_info[:2])' \
      2>/dev/null) == "$1" ]]; then
      printf '%s' "$program"
      return
    fi
  done
}

# wheel_tests_on PYTHON NAME PYSPARK ALL [CHECKOUT]: the tests in a new virtual environment, build/wheel/python-NAME,
# that has the wheel, installed without a network, and links to the PySpark of that folder, which runs on every Python;
# with those of the pages and the types of CHECKOUT.
wheel_tests_on() {
  local python=$1 environment=$wheel_home/python-$2 pyspark=$3 all=$4 checkout=${5:-} packages
  rm -rf "$environment"
  "$python" -m venv "$environment" &&
    "$environment/bin/pip" install --disable-pip-version-check --no-index --no-deps "$(wheel_file)" || return 1
  # Not what else is installed there: NumPy is compiled for one Python.
  packages=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') &&
    ln -s "$pyspark"/{pyspark,py4j} "$packages/" &&
    SLUICE_ALL=$all SLUICE_CHECKOUT=$checkout "$environment/bin/python" -B -m unittest discover --verbose \
      -s "$root/python/tests"
}

# The sdist makes the same wheel, byte for byte, with the backend that is there.
sdist_makes_the_wheel() {
  local folder=$wheel_home/from-sdist epoch
  epoch=$(packaged_time) || return 1
  rm -rf "$folder"
  SOURCE_DATE_EPOCH=$epoch "$wheel_tools/bin/pip" wheel --disable-pip-version-check --no-cache-dir --no-index \
    --no-deps --no-build-isolation --wheel-dir "$folder" "$wheel_dist/sluice_spark-$version.tar.gz" &&
    cmp "$(wheel_file)" "$folder/$(basename "$(wheel_file)")"
}

# install_pyspark_version VERSION PYTHON: in build/pyspark-VERSION.
install_pyspark_version() {
  local home=$build/pyspark-$1
  rm -rf "$home"
  "$2" -m venv "$home" &&
    "$home/bin/pip" install --disable-pip-version-check "pyspark==$1" &&
    touch "$home/.complete"
}

# other_pyspark_tests STEP PYSPARK PYTHON VERSION ALL: the wheel's tests on another PySpark, which is installed once.
other_pyspark_tests() {
  local home=$build/pyspark-$2 packages
  if ! is_asked_for "$1"; then return; fi
  if [[ ! -e $home/.complete ]] && ! step "install-pyspark-$2" install_pyspark_version "$2" "$3"; then
    failed_steps+=("install-pyspark-$2")
    return
  fi
  packages=("$home"/lib/python3*/site-packages)
  check "$1" wheel_tests_on "$3" "$4" "${packages[0]}" "$5"
}

install_mypy() {
  rm -rf "$mypy_home"
  python3 -m venv "$mypy_home" &&
    "$mypy_home/bin/pip" install --disable-pip-version-check --requirement "$root/tools/lib/mypy-requirements.txt" &&
    cp "$root/tools/lib/mypy-requirements.txt" "$mypy_home/.complete"
}

# Whether there is a mypy; installs it once.
prepare_mypy() {
  cmp -s "$root/tools/lib/mypy-requirements.txt" "$mypy_home/.complete" || step install-mypy install_mypy
}

# wheel_tests ALL: on python3, or on every Python that the wheel is for. Needs the PySpark of pyspark_tests.
wheel_tests() {
  local obstacle found pyspark python_version program checkout middle
  local -x SLUICE_MYPY=$mypy_home/bin/mypy
  obstacle=$(pyspark_obstacle)
  if [[ -n $obstacle || ! -e $pyspark_home/.complete ]]; then
    skip test-wheel "${obstacle:-PySpark was not installed}"
    return
  fi
  if ! (with_build_lock make_wheel); then
    failed_steps+=(build-wheel)
    return
  fi
  check test-wheel-sdist sdist_makes_the_wheel
  if ! prepare_mypy; then
    SLUICE_MYPY=
    skip test-wheel-types 'mypy cannot be installed; see build/logs/install-mypy.log'
  fi
  pyspark=("$pyspark_home"/lib/python3*/site-packages)
  found=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  for python_version in "${wheel_pythons[@]}"; do
    if ! (($1)) && [[ $python_version != "$found" ]]; then continue; fi
    if [[ $python_version == "$found" ]]; then checkout=$root; else checkout=; fi
    program=$(python_program "$python_version")
    if [[ -z $program ]]; then
      skip "test-wheel-$python_version" \
        "no Python $python_version with venv; SLUICE_PYTHON_${python_version/./_} names one"
    elif [[ $python_version == 3.9 ]]; then
      other_pyspark_tests "test-wheel-$python_version" "$old_pyspark" "$program" "$python_version" "$1"
    else
      check "test-wheel-$python_version" wheel_tests_on "$program" "$python_version" "${pyspark[0]}" "$1" "$checkout"
    fi
  done
  if (($1)); then
    for middle in "${middle_pysparks[@]}"; do
      other_pyspark_tests "test-wheel-pyspark-$middle" "$middle" "$(command -v python3)" "pyspark-$middle" "$1"
    done
  fi
}

# --- Releases -----------------------------------------------------------------------------------------------------

# What a release publishes, in build/release; every fault of it is said. With --check it is installed and tried, too.
command_release() {
  local obstacle
  obstacle=$(pyspark_obstacle)
  [[ -z $obstacle ]] || die "a release needs python3: $obstacle"
  build_all
  with_build_lock make_wheel
  # For the javadoc, which names classes of Spark.
  spark_home "$default_line" >/dev/null
  "$root/tools/release" "$@" || exit
  if [[ " $* " == *' --check '* ]]; then
    prepare_pyspark || die "the install tests need the PySpark of $pyspark_sources/requirements.txt"
    step test-release-installs install_tests || exit 1
    note "Installed and tried: the wheel with its tests, a job with --packages, the notebook"
  fi
}

# A Jupyter kernel and what runs notebooks in it, installed once.
install_jupyter() {
  local requirements=$root/tools/lib/jupyter-requirements.txt
  if cmp -s "$requirements" "$jupyter_home/.complete"; then return; fi
  rm -rf "$jupyter_home"
  python3 -m venv "$jupyter_home" &&
    "$jupyter_home/bin/pip" install --disable-pip-version-check --requirement "$requirements" &&
    cp "$requirements" "$jupyter_home/.complete"
}

# What users install of build/release: the wheel, in a new environment of python3, and there its tests, a job with
# --packages from the Maven repository, and the notebook. Needs the PySpark of pyspark_tests.
install_tests() {
  local pyspark found jupyter
  install_jupyter || return 1
  jupyter=("$jupyter_home"/lib/python3*/site-packages)
  pyspark=("$pyspark_home"/lib/python3*/site-packages)
  found=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])') || return 1
  wheel_dist=$build/release/python SLUICE_REPOSITORY=$build/release/maven \
    SLUICE_NOTEBOOK=$root/python/quick-start.ipynb SLUICE_JUPYTER=${jupyter[0]} \
    wheel_tests_on "$(command -v python3)" "$found" "${pyspark[0]}" 0 "$root"
}

# The check of a release, of a version that may be still in work, and its install tests.
release_tests() {
  spark_home "$default_line" >/dev/null &&
    "$root/tools/release" --check --allow-unreleased --url https://example.org/sluice && install_tests
}
