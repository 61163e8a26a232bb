"""The parts of each preset. A missing counter is left out, and what is there weighs more instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from coding_framework.config import RewardConfig, RewardWeights
from coding_framework.records import Evaluation, Record, Verdict
from coding_framework.training.reward_functions import counters
from coding_framework.training.reward_functions.speedup import improvement, normalised, speedup_of


@dataclass
class Parts:
    """What a preset gives: signed parts, the terms behind them, and what nobody counted."""

    values: dict[str, float]
    terms: dict[str, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


def weighted(
    evaluation: Evaluation, earlier: Sequence[Evaluation], config: RewardConfig, weights: RewardWeights
) -> Parts:
    """Five weighted parts and a bonus; speed, efficiency and quality are for what passed alone."""
    if not evaluation.compiled:
        return Parts({"compilation": 0.0})
    if not evaluation.passed:
        return _unfinished(evaluation, weights)
    efficiency = counters.efficiency_terms(evaluation)
    quality = counters.quality_terms(evaluation)
    shares = {
        "compilation": 1.0,
        "correctness": 1.0,
        "performance": normalised(speedup_of(evaluation), config),
        "efficiency": _mean(efficiency, config.efficiency),
        "quality": _mean(quality, config.quality),
    }
    values = _spread({name: (getattr(weights, name), share) for name, share in shares.items()})
    values["improvement"] = weights.improvement * improvement(evaluation, earlier)
    counted = efficiency | quality
    missing = [n for n in (*counters.EFFICIENCY_TERMS, *counters.QUALITY_TERMS) if n not in counted]
    return Parts(values, counted, tuple(missing))


def _unfinished(evaluation: Evaluation, weights: RewardWeights) -> Parts:
    """It compiles but does not pass: what comes after passing was not reached, and is 0, not missing."""
    reached = {
        "compilation": weights.compilation,
        "correctness": weights.correctness * min(1.0, evaluation.pass_rate),
    }
    return Parts(reached | dict.fromkeys(("performance", "efficiency", "quality", "improvement"), 0.0))


def gated(evaluation: Evaluation, config: RewardConfig) -> Parts:
    """Nothing for what did not pass, less than nothing for what never ends."""
    weights = config.gated
    if evaluation.verdict is Verdict.TIMEOUT:
        return Parts({"timeout": -weights.timeout})
    if not evaluation.passed:
        return Parts({"gate": 0.0})
    profile = evaluation.profile
    values = _spread(
        {
            "correctness": (weights.correctness, 1.0),
            "performance": (weights.performance, normalised(speedup_of(evaluation), config)),
            "warp_shuffle": (weights.warp_shuffle, float(profile.uses_warp_shuffle) if profile else None),
            "coalesced": (
                weights.coalesced,
                float(profile.coalescing_efficiency >= counters.COALESCED) if profile else None,
            ),
        }
    )
    missing = [] if profile else ["warp_shuffle", "coalesced"]
    resources = evaluation.compilation.resources if evaluation.compilation else ()
    if resources:
        values["register_pressure"] = 0.0 - weights.register_pressure * counters.register_pressure(resources)
        values["shared_memory"] = 0.0 - weights.shared_memory * counters.shared_overuse(resources)
    else:
        missing += ["register_pressure", "shared_memory"]
    return Parts(values, left_out=tuple(missing))


def mixed(
    evaluation: Evaluation, earlier: Sequence[Evaluation], config: RewardConfig, weights: RewardWeights
) -> Parts:
    """Both presets, each by its share; a part says by its name which one it comes from."""
    by_parts, by_gate = weighted(evaluation, earlier, config, weights), gated(evaluation, config)
    share = config.gated_share
    values = {f"weighted {name}": (1 - share) * value for name, value in by_parts.values.items()}
    values |= {f"gated {name}": share * value for name, value in by_gate.values.items()}
    left_out = dict.fromkeys((*by_parts.left_out, *by_gate.left_out))
    return Parts(values, by_parts.terms, tuple(left_out))


def _mean(terms: Mapping[str, float], weights: Record) -> float | None:
    """Weighted by the config; None where nothing that has a weight was counted."""
    total = sum(getattr(weights, name) for name in terms)
    if not total:
        return None
    return float(sum(getattr(weights, name) * value for name, value in terms.items()) / total)


def _spread(shares: Mapping[str, tuple[float, float | None]]) -> dict[str, float]:
    """Weight × share of each part that is there; the weight of the others goes to these in proportion."""
    there = {name: (weight, share) for name, (weight, share) in shares.items() if share is not None}
    present = sum(weight for weight, _ in there.values())
    scale = sum(weight for weight, _ in shares.values()) / present if present else 0.0
    return {name: scale * weight * share for name, (weight, share) in there.items()}
