# shellcheck shell=bash disable=SC2154
# What a step of ./sluice shows on a terminal while it runs; part of ./sluice, which has $logs. How long a step takes is
# not known before, so the bar goes by how long it took the last time, and without that only the seconds are shown.

progress_quiet_seconds=${SLUICE_PROGRESS_QUIET_SECONDS:-3}
progress_width=24

# progress_text PASSED EXPECTED: for example "[=====>      ] 12 s of about 40 s".
progress_text() {
  local passed=$1 expected=$2 filled bar
  if ((expected <= 0)); then
    printf '%d s' "$passed"
    return
  fi
  filled=$((passed * progress_width / expected))
  if ((filled > progress_width - 1)); then filled=$((progress_width - 1)); fi
  bar=$(printf '%*s' "$filled" '')
  printf '[%s>%*s] %d s of about %d s' "${bar// /=}" $((progress_width - 1 - filled)) '' "$passed" "$expected"
}

# paint_progress NAME: draws until it is killed, or the script that started it is gone.
paint_progress() {
  local name=$1 start=$SECONDS expected=0
  if [[ -r $logs/$name.seconds ]]; then read -r expected <"$logs/$name.seconds" || expected=0; fi
  [[ $expected =~ ^[0-9]{1,6}$ ]] || expected=0
  sleep "$progress_quiet_seconds"
  while kill -0 $$ 2>/dev/null; do
    printf '\r  %-28s %s\033[K' "$name" "$(progress_text $((SECONDS - start)) "$expected")" >&2
    sleep 1
  done
}

# start_progress NAME: on a terminal, in the background. The step itself stays in the foreground, so that Ctrl-C ends
# it.
start_progress() {
  progress_painter=
  if [[ -t 2 ]]; then
    # Without what the script holds: a lock of tools/cluster, and the output that somebody may wait for.
    paint_progress "$1" >/dev/null 9>&- &
    progress_painter=$!
  fi
}

# end_progress NAME SECONDS STATUS: removes the bar; a step that went well is remembered for the next time.
end_progress() {
  if [[ -n $progress_painter ]]; then
    kill "$progress_painter" 2>/dev/null || true
    wait "$progress_painter" 2>/dev/null || true
    progress_painter=
    printf '\r  %-28s \033[K' "$1" >&2
  fi
  if (($3 == 0)); then printf '%d\n' "$2" >"$logs/$1.seconds"; fi
}
