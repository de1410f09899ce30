# shellcheck shell=bash disable=SC2154
# Libraries that users run beside Sluice (Delta Lake, Iceberg, Hudi, Comet), for tests, and those that they run instead,
# for ./sluice bench; part of ./sluice, which has step, maven and $build. Their versions are in
# jvm/system-tests/neighbours/pom.xml.

copy_neighbours() {
  maven -f system-tests/neighbours/pom.xml package -Dspark.version="${1%-*}" -Dscala.binary.version="${1##*-}"
}

# prepare_neighbours LINE: puts the jars of those that have a build for the line into build/neighbours/LINE/<name>/.
prepare_neighbours() {
  local home=$build/neighbours/$1 pom=$root/jvm/system-tests/neighbours/pom.xml
  if [[ -e $home/.complete && ! $pom -nt $home/.complete ]]; then return; fi
  rm -rf "$home"
  mkdir -p "$home"
  step "neighbours-$1" copy_neighbours "$1" && touch "$home/.complete"
}

copy_peer() {
  maven -f system-tests/neighbours/pom.xml "dependency:copy@$1" -Dspark.version="${2%-*}" \
    -Dscala.binary.version="${2##*-}" -Doutput="$build/peers/$2"
}

# peer_jars NAME LINE: prints the paths of the library's jars for the Spark line, one a line, fetched once.
peer_jars() {
  local name=$1 line=$2 home=$build/peers/$2/$1 pom=$root/jvm/system-tests/neighbours/pom.xml
  mkdir -p "$build/peers"
  check_flock
  (
    # Two commands may ask for the same jar at once.
    flock 9
    if [[ ! -e $home/.complete || $pom -nt $home/.complete ]]; then
      rm -rf "$home"
      check_java
      check_maven
      step "peer-$name-$line" copy_peer "$name" "$line" || exit 1
      compgen -G "$home/*.jar" >/dev/null || die "no jar of $name for Spark $line is known to $pom"
      touch "$home/.complete"
    fi
  ) 9>"$build/peers/.lock"
  printf '%s\n' "$home"/*.jar
}
