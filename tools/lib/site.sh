# The documentation site. Sourced by ./sluice, whose functions and variables it uses.
# shellcheck shell=bash

site=$build/site

# The generator, with its versions pinned, in a Python of its own.
install_site_generator() {
  rm -rf "$site/python"
  python3 -m venv "$site/python" &&
    "$site/python/bin/pip" install --disable-pip-version-check --requirement "$root/tools/lib/site-requirements.txt" &&
    touch "$site/python/.complete"
}

# The script that lets the search of pages opened as files work; browsers allow pages of a server only to have worker
# threads. Without npm the site is made without it.
install_search_script() {
  local folder=$site/iframe-worker
  rm -rf "$folder" && mkdir -p "$folder" &&
    (cd "$folder" && npm pack --silent iframe-worker@1.0.4 && tar -xzf iframe-worker-1.0.4.tgz)
}

make_site() {
  local script=$site/iframe-worker/package/shim/index.js worker=()
  if [[ -e $script ]]; then worker=(--worker "$script"); fi
  rm -rf "$site/pages" "$site/html"
  "$root/tools/site" --pages "$site" &&
    (cd "$site" && NO_COLOR=1 python/bin/zensical build --strict -f mkdocs.yml) &&
    "$root/tools/site" --finish "$site" "${worker[@]}"
}

# Returns 1 when the generator cannot be had.
prepare_site() {
  if [[ $root/tools/lib/site-requirements.txt -nt $site/python/.complete ]]; then
    step install-site-generator install_site_generator || return 1
  fi
  if [[ ! -d $site/iframe-worker/package ]] && command -v npm >/dev/null; then
    step install-site-search install_search_script ||
      note '  The site will have a search only when a server serves it: npm could not fetch iframe-worker.'
  fi
}

command_site() {
  (($# == 0)) || die "site takes no arguments, not '$1'"
  command -v python3 >/dev/null ||
    die "no python3 found, which the site is made with. Install python3 with venv and pip"
  prepare_site ||
    die "the site's generator is not in $site/python, and pip could not install it: the first './sluice site' needs a" \
      "network or a mirror that pip knows. What pip says is in $logs/install-site-generator.log"
  step make-site make_site || exit 1
  note "Open $site/html/index.html"
}

# Links and blocks of commands of all pages; and that the site can be made, where its generator can be had.
site_tests() {
  if ! command -v python3 >/dev/null; then
    skip test-docs 'no python3'
    return
  fi
  check test-docs "$root/tools/site" --check
  if prepare_site; then
    check test-site make_site
  else
    skip test-site 'pip could not install the generator'
  fi
}

# Pages of the site as a browser shows them from files: on a telephone and on a desk, light and dark, with the search.
site_in_browser_test() {
  if [[ ! -d $site/html ]]; then
    skip test-site-in-browser 'the site was not made'
  elif ! prepare_browser; then
    skip test-site-in-browser 'no browser: it needs npm, and x86_64'
  elif [[ ! -d $site/iframe-worker/package ]]; then
    skip test-site-in-browser 'the site has no search without npm'
  else
    check test-site-in-browser node "$browser_home/pages.mjs" --site "$browser_home/chromium" "$site/html" index.html \
      start.html configuration.html metrics.html what-is-accelerated.html deployment/roce-switches.html
  fi
}
