# shellcheck shell=bash disable=SC2154
# Libraries that users run beside Sluice (Delta Lake, Iceberg, Hudi, Comet), for tests; part of ./sluice, which has
# step, maven and $build. Their versions are in jvm/system-tests/neighbours/pom.xml.

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
