"""Every shipped preset is one that verl, Ray and vLLM take, on the machine that it is for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from verl_composition import built, composed

from coding_framework.config import load_config, preset_dir
from coding_framework.training.plan.machine import Card, Machine
from coding_framework.training.plan.resolve import resolve
from coding_framework.training.rl import overrides
from coding_framework.training.rl.paths import RLPaths
from tiny_model import write_tiny_model

pytest.importorskip("verl")

PACKAGES = frozenset({"torch", "transformers", "peft", "verl", "ray", "vllm"})
CARD_BYTES = {"one-card-24gb": 24 * 10**9}


def machine(preset: str, num_cards: int) -> Machine:
    card = Card(name="a card", memory_bytes=CARD_BYTES.get(preset, 80 * 10**9))
    return Machine(cores=32, memory_bytes=256 * 10**9, cards=(card,) * num_cards, packages=PACKAGES)


def cases() -> Iterator[tuple[str, int]]:
    """(preset, cards): those it asks for; one that asks for none in particular runs on none and on one."""
    for path in sorted(preset_dir().glob("*.toml")):
        asked = load_config(path.stem).rl.num_gpus
        yield from ((path.stem, cards) for cards in ((0, 1) if asked is None else (asked,)))


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> RLPaths:
    folder = tmp_path_factory.mktemp("presets")
    return RLPaths(folder, write_tiny_model(folder / "model"), Path("/tmp/ray-of-a-test"))


@pytest.mark.parametrize(("preset", "cards"), list(cases()))
def test_verl_takes_every_key_of_a_preset(preset: str, cards: int, paths: RLPaths) -> None:
    config = resolve(load_config(preset), machine(preset, cards))
    verl = composed(config, paths)
    records = built(verl)
    rollout = records["actor_rollout_ref.rollout"]
    assert rollout.name == ("vllm" if cards else "coding_framework_hf")
    assert rollout.n == config.rl.group_size
    assert records["actor_rollout_ref.actor"].ppo_max_token_len_per_gpu == config.rl.update_tokens
    assert verl.trainer.device == ("cuda" if cards else "cpu")


@pytest.mark.parametrize(
    "key",
    [
        "actor_rollout_ref.actor.optim.learning_rate",
        "+actor_rollout_ref.actor.fsdp_config.no_such_key",
        "+actor_rollout_ref.rollout.no_such_key",
        "+actor_rollout_ref.model.no_such_key",
        "+ray_kwargs.ray_init.no_such_key",
    ],
)
def test_a_key_that_nobody_knows_is_found(key: str, paths: RLPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = overrides.build_overrides
    monkeypatch.setattr(
        "verl_composition.build_overrides", lambda config, paths: [*ours(config, paths), f"{key}=1"]
    )
    with pytest.raises(Exception, match=key.rpartition(".")[2]):
        built(composed(resolve(load_config("quick"), machine("quick", 0)), paths))
