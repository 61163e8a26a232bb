"""How far stored answers are from what a model would have given: what shows whether new weights arrived."""

from __future__ import annotations

from pathlib import Path

from coding_framework.monitoring.run_folder import RunFolder

TEMPERATURE = 0.9


def distance_of_step(run: Path, model: Path, step: int) -> float:
    """Mean distance of the log-probabilities that were stored with the answers of a step to `model`'s own."""
    import torch
    from transformers import AutoModelForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    gaps: list[float] = []
    for conversation in RunFolder(run).read_conversations():
        for turn in conversation.turns if conversation.step == step else ():
            said = turn.generation
            ids = torch.tensor([[*said.prompt_token_ids, *said.token_ids]])
            with torch.no_grad():
                logits = loaded(ids).logits[0, len(said.prompt_token_ids) - 1 : -1] / TEMPERATURE
            own = logits.log_softmax(-1).gather(1, torch.tensor(said.token_ids)[:, None])[:, 0]
            gaps += (own - torch.tensor(said.log_probs)).abs().tolist()
    assert gaps, f"no answer of step {step} is stored"
    return sum(gaps) / len(gaps)
