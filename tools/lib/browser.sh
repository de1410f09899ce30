# The browser of the tests that look at pages. Sourced by ./sluice, whose functions and variables it uses.
# shellcheck shell=bash

browser_home=$build/browser

# Whether pages can be opened in a browser here; it comes with npm, into build.
prepare_browser() {
  if [[ $host_machine == x86_64 ]] && command -v npm >/dev/null; then
    if ! cmp -s "$root/tools/browser/package-lock.json" "$browser_home/.complete"; then
      step install-browser install_browser || return
    fi
    cp "$root/tools/browser/pages.mjs" "$browser_home"
  else
    return 1
  fi
}

install_browser() {
  rm -rf "$browser_home"
  mkdir -p "$browser_home"
  cp "$root"/tools/browser/{package.json,package-lock.json,pages.mjs} "$browser_home" &&
    npm --prefix "$browser_home" ci --ignore-scripts --no-audit --no-fund &&
    node "$browser_home/pages.mjs" --unpack "$browser_home/chromium" &&
    cp "$root/tools/browser/package-lock.json" "$browser_home/.complete"
}
