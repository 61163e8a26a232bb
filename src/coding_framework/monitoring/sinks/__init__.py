"""Where the numbers of a run also go: TensorBoard, wandb, trackio, or what another package brings.

`metrics.jsonl` is written always and is the truth. The others are fed from it, and only with what cannot
be taken back any more: the points up to the last checkpoint. So a run that was killed and does some steps
again has nothing to unwrite anywhere, and every sink holds each step once.
"""
