"""Settings of an algorithm that would be ignored, or that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from coding_framework.config import CorrectionConfig, FrameworkConfig, RLConfig
from coding_framework.records import Record
from coding_framework.training.plan.refusals import Refusal, wrong


def algorithm_refusals(config: FrameworkConfig) -> Iterator[Refusal]:
    """Of RL alone."""
    if not config.rl.enabled:
        return
    yield from _of_another_algorithm(config.rl)
    yield from _kl(config.rl)
    yield from _correction(config.rl.correction)
    yield from _dapo(config)
    yield from _ppo(config.rl)


def _of_another_algorithm(rl: RLConfig) -> Iterator[Refusal]:
    for name in ("dapo", "ppo"):
        given = _changed(getattr(rl, name), f"rl.{name}")
        if given and rl.algorithm != name:
            yield wrong(
                f"{', '.join(given)} is for rl.algorithm={name} alone, and it is {rl.algorithm}: leave it "
                f"out, or set rl.algorithm={name}"
            )


def _kl(rl: RLConfig) -> Iterator[Refusal]:
    given = _changed(rl.kl_band, "rl.kl_band")
    if rl.kl_band.enabled and not rl.kl_coef:
        yield wrong(
            "rl.kl_band changes the weight of the KL term, and rl.kl_coef is 0: set it to where the weight "
            "begins, e.g. 0.01"
        )
    elif given and not rl.kl_band.enabled:
        yield wrong(
            f"{', '.join(given)} needs a band: set rl.kl_band.low and rl.kl_band.high, or leave it out"
        )


def _correction(correction: CorrectionConfig) -> Iterator[Refusal]:
    if correction.importance == "off" and "rl.correction.importance_limit" in _changed(
        correction, "rl.correction"
    ):
        yield wrong(
            "rl.correction.importance_limit cuts weights that rl.correction.importance=off does not form: "
            "set that one to token or turn, or leave the limit out"
        )


def _dapo(config: FrameworkConfig) -> Iterator[Refusal]:
    buffer, limit = config.rl.dapo.overlong_tokens, config.conversation.max_response_tokens
    if buffer is not None and buffer > limit:
        yield wrong(
            f"rl.dapo.overlong_tokens is {buffer}, but an answer has {limit} tokens at most (conversation."
            "max_response_tokens): lower it"
        )
    if buffer is not None and not config.rl.dapo.overlong_weight:
        yield wrong(
            "rl.dapo.overlong_tokens says where, but rl.dapo.overlong_weight is 0: leave one of them out"
        )


def _ppo(rl: RLConfig) -> Iterator[Refusal]:
    if rl.algorithm == "ppo" and rl.ppo.critic_warmup_steps >= rl.steps:
        yield wrong(
            f"rl.ppo.critic_warmup_steps is {rl.ppo.critic_warmup_steps} of rl.steps {rl.steps}: the policy "
            "would never learn; lower it or train longer"
        )


def _changed(settings: Record, prefix: str) -> list[str]:
    """What differs from its default."""
    fields = type(settings).model_fields
    return [f"{prefix}.{name}" for name, field in fields.items() if getattr(settings, name) != field.default]
