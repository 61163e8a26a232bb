"""New weights reach the sampling model exactly."""

from __future__ import annotations

import pytest

from coding_framework.errors import TrainingError
from coding_framework.training.rl.rollout_weights import RolloutWeights

torch = pytest.importorskip("torch")


def small_model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4, bias=False), torch.nn.Linear(4, 2, bias=False))


def adapter(seed: int) -> list[tuple[str, torch.Tensor]]:
    torch.manual_seed(seed)
    return [
        ("base_model.model.0.lora_A.weight", torch.randn(2, 3)),
        ("base_model.model.0.lora_B.weight", torch.randn(4, 2)),
    ]


def test_an_adapter_is_added_to_the_base_weights() -> None:
    model = small_model()
    base = model[0].weight.detach().clone()
    (_, a), (_, b) = pair = adapter(1)
    with torch.no_grad():
        RolloutWeights(model).merge_adapter(pair, scale=2.0)
    assert torch.allclose(model[0].weight, base + 2.0 * b @ a)


def test_merging_again_replaces_the_earlier_adapter() -> None:
    model, fresh = small_model(), small_model()
    weights = RolloutWeights(model)
    with torch.no_grad():
        for seed in (1, 2, 3):
            weights.merge_adapter(adapter(seed), scale=0.5)
        RolloutWeights(fresh).merge_adapter(adapter(3), scale=0.5)
    assert torch.equal(model[0].weight, fresh[0].weight)
    assert torch.equal(model[1].weight, fresh[1].weight)


def test_the_base_weights_are_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    weights, copies = RolloutWeights(small_model()), []
    clone = torch.Tensor.clone
    monkeypatch.setattr(torch.Tensor, "clone", lambda self: copies.append(self.shape) or clone(self))
    with torch.no_grad():
        for seed in (1, 2, 3):
            weights.merge_adapter(adapter(seed), scale=0.5)
    assert copies == [(4, 3)]


def test_full_weights_overwrite_by_name() -> None:
    model = small_model()
    with torch.no_grad():
        RolloutWeights(model).load_full([("1.weight", torch.ones(2, 4))])
    assert torch.equal(model[1].weight, torch.ones(2, 4))


def test_an_unknown_weight_is_an_error() -> None:
    weights = RolloutWeights(small_model())
    with pytest.raises(TrainingError, match=r"lacks: 7\.weight"):
        weights.load_full([("7.weight", torch.ones(1))])
    with pytest.raises(TrainingError, match="not the name of an adapter weight"):
        weights.merge_adapter([("0.weight", torch.ones(1))], 1.0)
    with pytest.raises(TrainingError, match="both halves"):
        weights.merge_adapter(adapter(1)[:1], 1.0)
