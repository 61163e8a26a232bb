#!/usr/bin/env bash
# Everything about training that needs a GPU of 80 GB and up, in parts:
#
#   scripts/check_training_on_gpu.sh FOLDER [PART...]
#
#   lora     `configs/one_gpu.toml` for STEPS steps: start, split of a step, tokens/s, memory after every step
#   full     all weights instead of an adapter: 4 steps; `gap` must not grow from step to step
#   qlora    the whole road, small: pairs, SFT on weights of 4 bits, RL from its adapter, evaluation
#   dapo     3 steps
#   ppo      3 steps
#   sleep    `configs/one_gpu_24gb.toml`, with vLLM asleep during the update: 3 steps
#
# If none is named: all. `gap` is the distance of what sampled to what is trained: it stays where it is only if
# new weights reach vLLM. What a part prints is in FOLDER/PART.txt and its run in FOLDER/PART; the exit code is
# 1 when any part failed. PYTHON, MODEL (a folder instead of the download) and STEPS (20) may be set. Nothing
# else should use the card meanwhile.
set -uo pipefail
cd "$(dirname "$0")/.."

folder=${1:?usage: scripts/check_training_on_gpu.sh FOLDER [PART...]}
shift
[ $# -gt 0 ] || set -- lora full qlora dapo ppo sleep
python=${PYTHON:-python}
steps=${STEPS:-20}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
export PYTHONPATH="$PWD/src${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1 COLUMNS=140

"$python" - <<'EOS' || exit 3
from coding_framework.cuda.toolchain.detect import find_gpus
_, gpus, reason = find_gpus()
raise SystemExit(None if gpus else f"check_training_on_gpu: no GPU here: {reason}")
EOS

cuda_rl() { "$python" -m coding_framework.cli.main "$@"; }
bench() { # PART, STEPS, further settings
  local part=$1 count=$2
  shift 2
  rm -rf "${folder:?}/$part"
  cuda_rl bench train --steps "$count" --keep "$folder/$part" ${MODEL:+--model "$MODEL"} "$@"
}
without_sft=(--set sft.enabled=false)

run_part() {
  case $1 in
    lora) bench lora "$steps" --config one_gpu --sft-steps 20 ;;
    full) bench full 4 --config one_gpu "${without_sft[@]}" --set rl.lora_rank=0 --set rl.learning_rate=1e-6 ;;
    dapo) bench dapo 3 --config one_gpu "${without_sft[@]}" --set rl.algorithm=dapo ;;
    ppo) bench ppo 3 --config one_gpu "${without_sft[@]}" --set rl.algorithm=ppo ;;
    sleep) bench sleep 3 --config one_gpu_24gb "${without_sft[@]}" --set rl.rollout_sleeps=true ;;
    qlora)
      cuda_rl train --config one_gpu ${MODEL:+--set "model.name=$MODEL"} --set run.output_dir="$folder/qlora" \
        --set sft.method=qlora --set sft.pairs=256 --set sft.steps=12 \
        --set rl.steps=2 --set rl.prompts_per_step=8 --set rl.group_size=8 --set rl.save_every=2 \
        --set 'tasks.train=["vector_add", "transpose", "matvec"]' --set 'tasks.held_out=["scale"]' \
        --set evaluation.samples_per_task=8
      ;;
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
  tail -n 60 "$folder/$part.txt"
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
