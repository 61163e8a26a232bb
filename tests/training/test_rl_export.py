"""What several workers saved in pieces is exported as the one model that they trained."""

from __future__ import annotations

from pathlib import Path

import pytest
from sharded_checkpoint import LORA_ALPHA, LORA_RANK, write_sharded_checkpoint

from coding_framework.agents.models.loading import load_tokenizer, sampling_dtype
from coding_framework.errors import TrainingError
from coding_framework.training.rl.export import _answers_in_float16, export_apart
from tiny_model import write_tiny_model

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def exported(folder: Path) -> dict[str, object]:
    state: dict[str, object] = transformers.AutoModelForCausalLM.from_pretrained(folder).state_dict()
    return state


def test_full_weights_of_two_workers_come_out_bit_for_bit(tmp_path: Path) -> None:
    start = write_tiny_model(tmp_path / "start")
    trained = write_sharded_checkpoint(start, tmp_path / "step" / "actor", lora=False)
    export_apart(tmp_path / "step", start, tmp_path / "out", "float32")
    result = exported(tmp_path / "out")
    assert set(result) == set(trained)
    assert all(torch.equal(result[name], tensor) for name, tensor in trained.items())


def test_adapters_of_two_workers_are_merged(tmp_path: Path) -> None:
    start = write_tiny_model(tmp_path / "start")
    trained = write_sharded_checkpoint(start, tmp_path / "step" / "actor", lora=True)
    export_apart(tmp_path / "step", start, tmp_path / "out", "float32")
    result = exported(tmp_path / "out")
    base = "base_model.model.model.layers.1.mlp.down_proj"
    low_rank = trained[f"{base}.lora_B.default.weight"] @ trained[f"{base}.lora_A.default.weight"]
    expected = trained[f"{base}.base_layer.weight"] + low_rank * (LORA_ALPHA / LORA_RANK)
    merged = result["model.layers.1.mlp.down_proj.weight"]
    assert merged.dtype == torch.float16
    assert torch.equal(merged, expected.half())
    assert low_rank.abs().max() > 0


def test_an_adapter_of_a_model_in_32_bits_is_exported_in_32_bits(tmp_path: Path) -> None:
    start = write_tiny_model(tmp_path / "start")
    write_sharded_checkpoint(start, tmp_path / "step" / "actor", lora=True)
    settings = start / "config.json"
    settings.write_text(settings.read_text().replace("bfloat16", "float32"))
    export_apart(tmp_path / "step", start, tmp_path / "out", "float32")
    assert {tensor.dtype for tensor in exported(tmp_path / "out").values()} == {torch.float32}


def test_what_bfloat16_would_round_away_is_kept_by_a_training_in_bfloat16(tmp_path: Path) -> None:
    start = write_tiny_model(tmp_path / "start")
    write_sharded_checkpoint(start, tmp_path / "step" / "actor", lora=True)
    export_apart(tmp_path / "step", start, tmp_path / "out", "bfloat16")
    assert {tensor.dtype for tensor in exported(tmp_path / "out").values()} == {torch.float16}
    assert sampling_dtype(tmp_path / "out", "bfloat16") == "float16", "and is there when it answers"
    assert sampling_dtype(start, "bfloat16") == "bfloat16"
    assert sampling_dtype(tmp_path / "out", "float32") == "float32"


@pytest.mark.gpu
def test_on_a_gpu_a_model_that_overflows_in_float16_is_found_out(tmp_path: Path) -> None:
    start = write_tiny_model(tmp_path / "start")
    model = transformers.AutoModelForCausalLM.from_pretrained(start, dtype=torch.float32)
    tokenizer = load_tokenizer(start)
    assert _answers_in_float16(model, tokenizer)
    with torch.no_grad():
        model.model.layers[0].mlp.up_proj.weight.mul_(1e4)
        model.model.layers[0].mlp.down_proj.weight.mul_(1e4)
    assert not _answers_in_float16(model, tokenizer)


def test_a_worker_whose_file_is_missing_is_named(tmp_path: Path) -> None:
    start = write_tiny_model(tmp_path / "start")
    actor = tmp_path / "step" / "actor"
    actor.mkdir(parents=True)
    (actor / "model_world_size_2_rank_0.pt").touch()
    with pytest.raises(TrainingError, match=r"of workers \[0\], of 2 in all: .* that every node sees"):
        export_apart(tmp_path / "step", start, tmp_path / "out", "float32")
    assert not (tmp_path / "out").exists()
