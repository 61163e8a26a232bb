#!/usr/bin/env bash
# Everything that needs a GPU, in parts:
#
#   scripts/check_on_gpu.sh FOLDER [PART...]
#
# The judge:
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
# Training, on a card of 80 GB and up that nothing else uses:
#
#   lora      configs/one_gpu.toml for STEPS steps: start, split of a step, tokens/s, memory after every step
#   full      all weights instead of an adapter: 4 steps
#   qlora     the whole road, small: pairs, SFT on weights of 4 bits, RL from its adapter, evaluation
#   dapo      3 steps
#   ppo       3 steps
#   sleep     configs/one_gpu_24gb.toml, with vLLM asleep during the update: 3 steps
#   sources   two steps on tasks of SOURCES, a TOML list (KernelBench files, archives), named by TASKS, another
#             list; then an evaluation sampled by vLLM
#
# Their `gap` is the distance of what sampled to what is trained: it stays where it is only if new weights
# reach vLLM.
#
# If none is named: repeat bench soak suite tests lint. What a part prints is in FOLDER/PART.txt, the rows of
# the suite in FOLDER/PART.json, a training's run in FOLDER/PART; the exit code is 1 when any part failed.
# PYTHON, WORKERS (all cores by default), MODEL (a folder instead of the download) and STEPS (20) may be set.
set -uo pipefail
cd "$(dirname "$0")/.."

folder=${1:?usage: scripts/check_on_gpu.sh FOLDER [PART...]}
shift
[ $# -gt 0 ] || set -- repeat bench soak suite tests lint
python=${PYTHON:-python}
workers=${WORKERS:-$(nproc)}
steps=${STEPS:-20}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
export PYTHONPATH="$PWD/src:$PWD/tests${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1 COLUMNS=140

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

bench_train() { # PART, STEPS, further options
  local part=$1 count=$2
  shift 2
  rm -rf "${folder:?}/$part"
  cuda_rl bench train --steps "$count" --keep "$folder/$part" ${MODEL:+--model "$MODEL"} "$@"
}
bench_rl() { bench_train "$@" --config one_gpu --set sft.enabled=false; }
small_training() { # FOLDER
  cuda_rl train --config one_gpu ${MODEL:+--set "model.name=$MODEL"} --set run.output_dir="$1" \
    --set sft.method=qlora --set sft.pairs=256 --set sft.steps=12 \
    --set rl.steps=2 --set rl.prompts_per_step=8 --set rl.group_size=8 --set rl.save_every=2 \
    --set 'tasks.train=["vector_add", "transpose", "matvec"]' --set 'tasks.held_out=["scale"]' \
    --set evaluation.samples_per_task=8
}

sources() { # FOLDER
  cuda_rl train --config one_gpu ${MODEL:+--set "model.name=$MODEL"} --set run.output_dir="$1" \
    --set sft.enabled=false --set rl.steps=2 --set rl.prompts_per_step=6 --set rl.group_size=4 \
    --set rl.save_every=2 --set curriculum.enabled=false --set conversation.max_prompt_tokens=2048 \
    --set conversation.max_response_tokens=1024 --set evaluation.samples_per_task=2 \
    --set "tasks.sources=${SOURCES:?a TOML list of sources}" --set "tasks.train=${TASKS:?a TOML list of names}" \
    --set 'tasks.held_out=["scale"]'
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
    lora) bench_train lora "$steps" --config one_gpu --sft-steps 20 ;;
    full) bench_rl full 4 --set rl.lora_rank=0 --set rl.learning_rate=1e-6 ;;
    qlora) small_training "$folder/qlora" ;;
    dapo) bench_rl dapo 3 --set rl.algorithm=dapo ;;
    ppo) bench_rl ppo 3 --set rl.algorithm=ppo ;;
    sleep) bench_train sleep 3 --config one_gpu_24gb --set sft.enabled=false --set rl.rollout_sleeps=true ;;
    sources) sources "$folder/sources" ;;
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
