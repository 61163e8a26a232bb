#!/usr/bin/env bash
# Everything about the judge that needs a GPU, in parts:
#
#   scripts/check_on_gpu.sh FOLDER [PART...]
#
#   repeat    two runs of every kernel of the catalogue tell the same time
#   bench     compiles and judgements a second, ratio to torch's load_inline
#   soak      a thousand judgements, one in ten of them hostile; nothing may leak
#   suite     every cheat and every honest candidate
#   kernels   of these, the cheats of the contract `kernel` and the honest candidates
#   host      of these, the cheats with host code
#   tests     the tests that are marked `gpu`, but for those that `suite` stands for
#   lint      adversaries against every task
#
# If none is named: repeat bench soak suite tests lint. What a part prints is in FOLDER/PART.txt, the rows of
# the suite in FOLDER/PART.json; the exit code is 1 when any part failed. PYTHON and WORKERS (all cores by
# default) may be set.
set -uo pipefail
cd "$(dirname "$0")/.."

folder=${1:?usage: scripts/check_on_gpu.sh FOLDER [PART...]}
shift
[ $# -gt 0 ] || set -- repeat bench soak suite tests lint
python=${PYTHON:-python}
workers=${WORKERS:-$(nproc)}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
export PYTHONPATH="$PWD/src:$PWD/tests${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1

"$python" - <<'EOS' || exit 3
from coding_framework.cuda.toolchain.detect import find_gpus
_, gpus, reason = find_gpus()
raise SystemExit(None if gpus else f"check_on_gpu: no GPU here: {reason}")
EOS

cuda_rl() { "$python" -m coding_framework.cli.main "$@"; }
table() { # PART, parts of names
  "$python" scripts/judge_table.py --executor gpu --workers "$workers" --only "$2" \
    --document "$folder/none.md" --json "$folder/$1.json"
}
gpu_tests() { # six at a time: who times has the device alone by its lease
  grep -rl --include='test_*.py' 'mark\.gpu' tests | grep -vE '^tests/(cheats|honest|agents)/' |
    xargs "$python" -m pytest -v -m gpu -n 6 -p no:cacheprovider
}

run_part() {
  case $1 in
    repeat) cuda_rl bench repeat --executor gpu --workers "$workers" ;;
    bench) cuda_rl bench judge --executor gpu --workers "$workers" --judgements 1000 --seconds 12 ;;
    soak) cuda_rl bench soak --executor gpu --workers "$workers" --judgements 1000 ;;
    suite) table suite /,. ;;
    kernels) table kernels kernel/,. ;;
    host) table host extension/,module/ ;;
    tests) gpu_tests ;;
    lint) cuda_rl tasks lint --executor gpu ;;
    *) echo "no such part: $1" && return 2 ;;
  esac
}

failed=()
for part in "$@"; do
  echo "== $part (follow it: tail -f $folder/$part.txt)"
  started=$SECONDS
  run_part "$part" >"$folder/$part.txt" 2>&1
  code=$?
  [ $code -eq 0 ] || failed+=("$part")
  echo "== $part: exit code $code, $((SECONDS - started)) s"
  grep -vE '^ok  |^\| ' "$folder/$part.txt" | tail -n 40
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
