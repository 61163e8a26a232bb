"""What verl is given: rows with rewards of their own, an estimator over groups, a server's requests."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from coding_framework.records import Conversation, ConversationTurn, Generation, Message
from coding_framework.training.reward_functions.cuda_performance_reward import CUDAPerformanceReward
from coding_framework.training.rl.names import WORKER_SETTINGS_ENV
from coding_framework.training.rl.rollout_server import SamplingRequest
from coding_framework.training.rl.worker_settings import WorkerSettings, concurrent_calls
from tests_support import EvaluationFactory

torch = pytest.importorskip("torch")
pytest.importorskip("verl")


def conversation(answer_tokens: tuple[int, ...]) -> Conversation:
    evaluation = EvaluationFactory().passed(1.5)
    turns = [
        ConversationTurn(
            index=index,
            agent="generator",
            messages=(Message(role="user", content="write"),),
            generation=Generation(
                text="", prompt_token_ids=(1, 2), token_ids=(3,) * tokens, log_probs=(-0.5,) * tokens
            ),
            evaluation=evaluation,
            reward=CUDAPerformanceReward()(evaluation),
        )
        for index, tokens in enumerate(answer_tokens)
    ]
    return Conversation(
        conversation_id="told",
        task="vector_add",
        turns=tuple(turns),
        stop_reason="max_turns",
        discount=0.9,
        max_turns=len(turns),
        step=1,
        phase="train",
    )


def test_every_turn_keeps_its_own_return_although_verl_copies_the_last_score() -> None:
    from coding_framework.training.rl.agent_loop import _row

    first, last = _row([1], [5, 6, 2], [-1.0, -1.0, -1.0], 0.25, 0), _row([1], [7, 2], [-1.0, -1.0], 0.75, 0)
    first.reward_score = last.reward_score
    assert first.as_dict()["rm_scores"].tolist() == [0.0, 0.0, 0.25]
    assert last.as_dict()["rm_scores"].tolist() == [0.0, 0.75]
    assert first.as_dict()["response_mask"].tolist() == [1, 1, 1]
    assert first.as_dict()["rollout_log_probs"].tolist() == [-1.0, -1.0, -1.0]


def test_a_long_answer_loses_part_of_the_return_of_its_turn_alone() -> None:
    from coding_framework.training.rl.agent_loop import _rows
    from coding_framework.training.rl.overlong import OverlongShaping

    shaping = OverlongShaping(limit_tokens=10, buffer_tokens=4, weight=0.5)
    told = conversation(answer_tokens=(9, 3))
    plain, shaped = (_rows(told, 0, one) for one in (None, shaping))
    assert [row.turn_return for row in plain] == pytest.approx(list(told.returns))
    assert [row.turn_return for row in shaped] == pytest.approx(
        [told.returns[0] - 0.5 * 3 / 4, told.returns[1]]
    )


def test_the_estimator_is_registered_and_spreads_a_rows_advantage_over_its_tokens() -> None:
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn

    import coding_framework.training.rl.turn_trainer  # noqa: F401

    rewards = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 3.0], [9.0, 0.0, 0.0]])
    mask = torch.tensor([[1, 1, 0], [1, 1, 1], [0, 0, 0]])
    advantages, returns = get_adv_estimator_fn("turn_grpo")(
        token_level_rewards=rewards,
        response_mask=mask,
        index=np.array(["a", "a", "a"], dtype=object),
        config={"norm_adv_by_std_in_grpo": False},
    )
    assert advantages.tolist() == [[-2.0, -2.0, 0.0], [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]]
    assert torch.equal(advantages, returns)


def test_the_platform_and_the_rollout_are_registered() -> None:
    from verl.plugin.platform import PlatformRegistry
    from verl.trainer.ppo.v1 import get_trainer_cls
    from verl.workers.engine.base import EngineRegistry
    from verl.workers.rollout.base import get_rollout_class
    from verl.workers.rollout.replica import RolloutReplicaRegistry

    import coding_framework.training.rl.cpu_platform
    import coding_framework.training.rl.rollout_replica
    import coding_framework.training.rl.turn_trainer  # noqa: F401
    from coding_framework.training.rl.cpu_engine import SharingEngine
    from coding_framework.training.rl.critic_engine import CriticEngine
    from coding_framework.training.rl.reference_engine import LanguageModelEngine

    assert PlatformRegistry.get("cpu") is not None
    assert get_rollout_class("coding_framework_hf").__name__ == "TransformersRollout"
    assert RolloutReplicaRegistry.get("coding_framework_hf").__name__ == "TransformersReplica"
    assert get_trainer_cls("coding_framework_turns").__name__ == "TurnTrainer"
    policies = EngineRegistry._engines["language_model"]["fsdp2"]
    assert policies["cpu"] is SharingEngine
    assert policies["cuda", "nvidia"] is LanguageModelEngine
    critics = EngineRegistry._engines["value_model"]["fsdp2"]
    assert critics["cpu"] is critics["cuda", "nvidia"] is CriticEngine


def test_a_request_takes_verls_words_for_no_limit() -> None:
    params = {"temperature": 0.9, "top_k": -1, "top_p": 1.0, "seed": 3}
    request = SamplingRequest.from_verl([1, 2], params, 50)
    assert request == SamplingRequest((1, 2), max_tokens=50, temperature=0.9, top_p=1.0, top_k=0, seed=3)
    assert SamplingRequest.from_verl([1], {"max_tokens": 7, "seed": 3}, 50).max_tokens == 7


@pytest.mark.parametrize(
    ("stop_reason", "ids", "expected"),
    [
        ("completed", (5, 6, 7), "length"),
        ("completed", (5, 6, 2), "stop"),
        ("completed", (5, 2), "stop"),
        ("completed", (5, 6), "stop"),
        ("length", (5, 6, 7), "length"),
        ("stop", (5,), "stop"),
    ],
)
def test_an_answer_that_was_cut_off_is_known_although_verls_vllm_calls_it_completed(
    stop_reason: str, ids: tuple[int, ...], expected: str
) -> None:
    """Three tokens are the limit, and token 2 ends an answer."""
    from coding_framework.training.rl.agent_loop import EpisodeAgentLoop

    loop = SimpleNamespace(tokenizer=SimpleNamespace(all_special_ids=[2]))
    output = SimpleNamespace(stop_reason=stop_reason, token_ids=ids)
    assert EpisodeAgentLoop._finish_reason(loop, output, 3) == expected


def test_a_server_admits_every_answer_of_a_step_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may have to wait for each other; 1000 calls are what Ray admits otherwise."""
    from coding_framework.config import load_config

    config = load_config("starter")
    settings = WorkerSettings(
        run_dir=tmp_path,
        conversation=config.conversation,
        reward=config.reward,
        judge=config.judge,
        rl=config.rl,
    )
    monkeypatch.setenv(WORKER_SETTINGS_ENV, str(settings.write()))
    assert concurrent_calls() > 256 * 8
