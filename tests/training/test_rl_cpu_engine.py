"""Without a GPU, rows that share what they begin with give the numbers of verl's engine, row by row."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verl")

from engine_rows import OTHER, PROMPT, ROWS

from coding_framework.errors import TrainingError
from coding_framework.training.rl.shared_rows import cut_further, cut_into_passes, num_tokens
from coding_framework.training.shared_beginning import shared_length
from tiny_model import write_tiny_model

PROMPTS = [prompt for prompt, _ in ROWS]
LENGTHS = [len(prompt) + len(answer) for prompt, answer in ROWS]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rank", "activations", "most_tokens", "passes"),
    [(4, "kept", 1000, 2), (0, "kept", 27, 4), (4, "again", 30, 3)],
    ids=["adapter", "all weights", "activations computed twice"],
)
def test_the_numbers_are_those_of_rows_of_their_own(
    tmp_path: Path, rank: int, activations: str, most_tokens: int, passes: int
) -> None:
    model = write_tiny_model(tmp_path / "model")
    script = Path(__file__).parent / "engine_rows.py"
    command = [sys.executable, str(script), str(model), str(rank), activations, str(most_tokens)]
    child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert child.returncode == 0, child.stderr
    found: dict[str, dict[str, Any]] = json.loads(child.stdout.splitlines()[-1])
    ours, theirs = found["ours"], found["theirs"]
    assert ours["passes"] == passes
    assert len(ours["gradients"]) > 4
    assert ours["gradients"] == pytest.approx(theirs["gradients"], rel=1e-3, abs=1e-5)
    for name in ("log_probs", "entropy"):
        assert len(ours[name]) == len(ROWS)
        for own, other in zip(ours[name], theirs[name], strict=True):
            assert own == pytest.approx(other, abs=1e-4)


def test_rows_of_one_prompt_are_together_and_the_others_with_each_other() -> None:
    assert cut_into_passes(PROMPTS, LENGTHS, 1000) == [[0, 1, 4], [2, 3]]
    assert num_tokens(PROMPTS, LENGTHS, [0, 1, 4]) == len(PROMPT) - 1 + 3 + 4 + 2 + 7
    assert shared_length([PROMPT, OTHER]) == 12
    assert shared_length([PROMPT, PROMPT[:5]]) == 4, "one token of its own predicts the answer"
    assert shared_length([PROMPT]) == 0


def test_a_pass_has_no_more_tokens_than_allowed_but_one_row_at_least() -> None:
    for most in range(1, 60):
        cut = cut_into_passes(PROMPTS, LENGTHS, most)
        assert sorted(row for rows in cut for row in rows) == list(range(len(ROWS)))
        assert all(len(rows) == 1 or num_tokens(PROMPTS, LENGTHS, rows) <= most for rows in cut)


def test_there_are_as_many_passes_as_another_actor_needs() -> None:
    for wanted in range(1, len(ROWS) + 1):
        cut = cut_further(cut_into_passes(PROMPTS, LENGTHS, 1000), wanted)
        assert len(cut) == max(2, wanted)
        assert sorted(row for rows in cut for row in rows) == list(range(len(ROWS)))
    with pytest.raises(TrainingError, match="5 rows cannot make 6 passes"):
        cut_further([[row] for row in range(len(ROWS))], 6)
