"""Sample conversations: the best of each task, folded, with everything the model wrote as plain text."""

from __future__ import annotations

from coding_framework.monitoring.markup import Html, highlight_cuda, join, tag
from coding_framework.monitoring.run_history import RunHistory
from coding_framework.records import Conversation, ConversationTurn

_MAX_SECTION_CHARACTERS = 1_200_000
_MAX_CODE, _MAX_PROMPT, _MAX_MESSAGE = 12_000, 6_000, 3_000


def conversations(history: RunHistory) -> Html:
    """One folded entry a task, until the section is as large as a report should get."""
    if not history.best:
        return tag("p", "No conversation has been recorded in this run.", class_="empty")
    shown: list[Html] = []
    size = 0
    for task in sorted(history.best):
        entry = _conversation(history.best[task])
        size += len(entry)
        if size > _MAX_SECTION_CHARACTERS:
            break
        shown.append(entry)
    left = len(history.best) - len(shown)
    words = f"The best of {history.num_conversations} conversations for each of {len(history.best)} tasks."
    if left:
        words += f" {left} are not shown here for their size; all are in conversations.jsonl."
    return join([tag("p", words, class_="caption"), *shown])


def _conversation(conversation: Conversation) -> Html:
    turn = conversation.best_turn
    evaluation = turn.evaluation
    style = "ok" if evaluation.passed else "warn"
    timing = evaluation.timing
    speed = tag("span", f"{timing.speedup:.2f}× {timing.kind}", class_="pill") if timing else None
    summary = tag(
        "summary",
        tag("span", conversation.task, class_="task"),
        tag("span", evaluation.verdict.value.replace("_", " "), class_=f"pill {style}"),
        tag("span", f"reward {turn.reward.total:.2f}", class_="pill"),
        speed,
        tag("span", _origin(conversation, turn), class_="note"),
    )
    body = tag("div", *_body(turn), class_="conversation")
    return tag("details", summary, body, class_="card entry")


def _origin(conversation: Conversation, turn: ConversationTurn) -> str:
    step = f", step {conversation.step}" if conversation.step is not None else ""
    place = f"turn {turn.index + 1} of {len(conversation.turns)}"
    return f"{conversation.phase}{step}, {place} ({turn.agent}), {_cut(conversation.conversation_id, 80)}"


def _body(turn: ConversationTurn) -> list[Html]:
    candidate = turn.evaluation.candidate
    answer = (
        [tag("h4", "Answer"), tag("pre", highlight_cuda(_cut(candidate.source, _MAX_CODE)), class_="code")]
        if candidate
        else [
            tag("h4", "Answer (no code in it)"),
            tag("pre", _cut(turn.generation.text, _MAX_CODE), class_="prose"),
        ]
    )
    prompt = [
        join([tag("h5", message.role), tag("pre", _cut(message.content, _MAX_PROMPT), class_="prose")])
        for message in turn.messages
    ]
    verdict = tag("pre", _cut(turn.evaluation.message, _MAX_MESSAGE), class_="prose")
    folded = tag("details", tag("summary", "Prompt"), *prompt)
    return [folded, *answer, tag("h4", "Verdict"), verdict, tag("h4", "Reward"), _reward(turn)]


def _reward(turn: ConversationTurn) -> Html:
    rows = [
        tag("tr", tag("td", name.replace("_", " ")), tag("td", f"{value:+.3f}", class_="number"))
        for name, value in turn.reward.parts.items()
    ]
    total = tag(
        "tr",
        tag("th", f"total ({turn.reward.preset})", scope="row"),
        tag("td", f"{turn.reward.total:.3f}", class_="number"),
    )
    table = tag("table", tag("tbody", *rows), tag("tfoot", total), class_="plain narrow")
    return join([table, tag("p", _cut(turn.reward.explanation, _MAX_MESSAGE), class_="caption")])


def _cut(words: str, limit: int) -> str:
    if len(words) <= limit:
        return words
    return f"{words[:limit]}\n… {len(words) - limit} more characters are in conversations.jsonl"
