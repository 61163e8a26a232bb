"""The supervised warm start: `run_sft` in `trainer` teaches a model judged answers by LoRA."""
