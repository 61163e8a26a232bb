"""Curves of one step from its conversations: by turn, by agent, by tier, and what was refused as a hack.

Pure functions. A mean over nothing is left out; a count of nothing is 0, because somebody counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median

from coding_framework.records import REFUSED_AS_HACKS, Conversation, ConversationTurn

TierOf = Callable[[str], int]


def curve_values(conversations: Sequence[Conversation], tier_of: TierOf) -> dict[str, float]:
    """Of at least one conversation, without the openings."""
    turns = [turn for one in conversations for turn in one.own_turns]
    return {
        **_rewards(conversations),
        **_by_tier(conversations, tier_of),
        **_speedups(conversations),
        **_answers(turns),
        **_refused(turns),
    }


def _rewards(conversations: Sequence[Conversation]) -> dict[str, float]:
    """Of each turn by its place, and by who spoke."""
    turns = [
        (place, turn)
        for one in conversations
        for place, turn in enumerate(one.own_turns, one.opening_turns + 1)
    ]
    by_turn = _means((f"reward_turn{place}", turn.reward.total) for place, turn in turns)
    return by_turn | _means((f"reward_{turn.agent}", turn.reward.total) for _, turn in turns)


def _by_tier(conversations: Sequence[Conversation], tier_of: Callable[[str], int]) -> dict[str, float]:
    """Share of episodes in which a turn compiled, or passed."""
    pairs = []
    for one in conversations:
        tier = tier_of(one.task)
        pairs.append((f"compile_rate_tier{tier}", any(turn.evaluation.compiled for turn in one.own_turns)))
        pairs.append((f"pass_rate_tier{tier}", any(turn.evaluation.passed for turn in one.own_turns)))
    return _means(pairs)


def _speedups(conversations: Sequence[Conversation]) -> dict[str, float]:
    """Of the best kernel of each episode that passed."""
    known = [speedup for one in conversations if (speedup := best_speedup(one)) is not None]
    if not known:
        return {}
    return {"speedup_mean": fmean(known), "speedup_median": median(known), "speedup_best": max(known)}


def best_speedup(conversation: Conversation) -> float | None:
    """None where no kernel passed."""
    found = [t.evaluation.speedup for t in conversation.own_turns if t.evaluation.speedup is not None]
    return max(found, default=None)


def _answers(turns: Sequence[ConversationTurn]) -> dict[str, float]:
    """Length, and how sure the policy was: the mean of -log p over what was sampled estimates its entropy."""
    lengths = sorted(len(turn.generation.token_ids) for turn in turns)
    surprises = [-log_prob for turn in turns for log_prob in turn.generation.log_probs]
    found = {
        "answer_tokens_p90": float(lengths[int(0.9 * (len(lengths) - 1))]),
        "answers_cut_share": fmean(turn.generation.finish_reason == "length" for turn in turns),
    }
    return found | ({"entropy_sampled": fmean(surprises)} if surprises else {})


def _refused(turns: Sequence[ConversationTurn]) -> dict[str, float]:
    """Turns by the verdict that refused them."""
    seen = Counter(turn.evaluation.verdict for turn in turns)
    counts = {f"refused_{verdict.value}": float(seen[verdict]) for verdict in REFUSED_AS_HACKS}
    return {"refused": sum(counts.values()), **counts}


def _means(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    gathered: defaultdict[str, list[float]] = defaultdict(list)
    for name, value in pairs:
        gathered[name].append(value)
    return {name: fmean(gathered[name]) for name in sorted(gathered)}
