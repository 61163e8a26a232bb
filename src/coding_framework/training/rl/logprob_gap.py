"""verl plug-in: how far what samples is from the policy that is trained, measured in every update.

Both give each sampled token a log-probability. With one update for each batch they are of the same
weights, so their mean distance is rounding (1e-3 in bfloat16) as long as new weights reach the
rollout, and grows from step to step when they do not. With several updates it holds their changes too.
"""

from __future__ import annotations

from typing import Any

from verl.trainer.ppo.core_algos import get_policy_loss_fn, register_policy_loss
from verl.utils.torch_functional import masked_mean

METRIC = "actor/logprob_gap"


def _measured(name: str) -> None:
    loss_of = get_policy_loss_fn(name)

    def loss_and_gap(*, old_log_prob: Any, log_prob: Any, response_mask: Any, **rest: Any) -> Any:
        loss, metrics = loss_of(
            old_log_prob=old_log_prob, log_prob=log_prob, response_mask=response_mask, **rest
        )
        distance = (log_prob.detach() - old_log_prob).abs()
        return loss, {**metrics, METRIC: masked_mean(distance, response_mask).item()}

    register_policy_loss(name)(loss_and_gap)


for _name in ("vanilla", "bypass_mode"):
    _measured(_name)
