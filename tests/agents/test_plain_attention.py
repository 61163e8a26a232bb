"""A model whose attention is not the plain one is refused, before anything is spent or when it is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
import transformers

from coding_framework.agents.models.kv_rows import register_attention as sampling_attention
from coding_framework.agents.models.plain_attention import not_plain
from coding_framework.config import FrameworkConfig
from coding_framework.errors import ConfigError
from coding_framework.training.packed_attention import register_packed_attention
from coding_framework.training.plan.machine import look_at_machine
from coding_framework.training.plan.make import make_plan
from coding_framework.training.sft.attention import register_attention as sft_attention

SIZES: dict[str, Any] = {
    "vocab_size": 32,
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
}
ATTENTIONS = [sampling_attention, register_packed_attention, sft_attention]
ROW = torch.arange(1, 9)[None]


def asked(model: Any, attention: str) -> Any:
    model.set_attn_implementation(attention)
    with torch.no_grad():
        positions = torch.arange(ROW.shape[1])[None]
        return model.eval()(ROW, position_ids=positions, use_cache=False).logits


def mistral(window: int | None) -> Any:
    torch.manual_seed(0)
    return transformers.MistralForCausalLM(transformers.MistralConfig(**SIZES, sliding_window=window))


@pytest.mark.parametrize("register", ATTENTIONS)
def test_a_window_that_a_row_is_longer_than_is_refused_and_another_changes_nothing(register: Any) -> None:
    with pytest.raises(ConfigError, match="sees 4 tokens back"):
        asked(mistral(4), register())
    model = mistral(8)
    assert torch.allclose(asked(model, register()), asked(model, "eager"), atol=1e-5)


@pytest.mark.parametrize("register", ATTENTIONS)
def test_softcapped_scores_are_refused(register: Any) -> None:
    config = transformers.Gemma2Config(**SIZES, attn_logit_softcapping=50.0)
    with pytest.raises(ConfigError, match="softcap"):
        asked(transformers.Gemma2ForCausalLM(config), register())


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"sliding_window": 4096}, None),
        ({"sliding_window": 1024}, "to 1024"),
        ({"sliding_window": 1024, "use_sliding_window": False}, None),
        ({"sliding_window": None, "final_logit_softcapping": None}, None),
        ({"final_logit_softcapping": 30.0}, "final_logit_softcapping"),
        ({"text_config": {"attn_logit_softcapping": 50.0}}, "attn_logit_softcapping"),
    ],
)
def test_what_a_model_says_of_its_attention(told: dict[str, Any], words: str | None) -> None:
    found = not_plain(told, 2048)
    assert found is None if words is None else found is not None and words in found


def test_the_plan_refuses_such_a_model(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"sliding_window": 1000}))
    (tmp_path / "model.safetensors").touch()
    config = {"model": {"name": str(tmp_path)}, "sft": {"max_length": 1200}}
    with pytest.raises(ConfigError, match=r"cannot be trained: it sees 1000 tokens.*rows may have 1408"):
        make_plan(FrameworkConfig.model_validate(config), look_at_machine())
