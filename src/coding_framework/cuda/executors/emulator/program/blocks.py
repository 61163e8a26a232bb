"""Flat code into basic blocks, in an order in which diverged lanes meet again early.

The scheduler always runs the lowest-numbered block that has lanes. Numbers follow a reverse
postorder in which loop exits come after the whole loop, so lanes inside a loop, or in one arm of an
`if`, catch up before lanes behind it go on. Layout order would not do: the compiler places cold
blocks at the end of a function.
"""

from __future__ import annotations

from coding_framework.cuda.executors.emulator.program.code import (
    Block,
    Ending,
    FlatInstruction,
    FlatLabel,
    Name,
    UnsupportedPtx,
)
from coding_framework.cuda.executors.emulator.ptx import Symbol

WARP_SYNC = frozenset({"shfl", "vote", "match", "redux", "elect", "mma", "wmma", "ldmatrix"})


def is_barrier(parts: tuple[str, ...]) -> bool:
    """bar.sync, bar.red, barrier.sync and their relatives, but not bar.warp.sync."""
    return parts[0] in ("bar", "barrier") and "warp" not in parts and "cluster" not in parts


def is_warp_sync(parts: tuple[str, ...]) -> bool:
    """Instructions that name the lanes which must take part."""
    return (parts[0] in WARP_SYNC and "sync" in parts) or parts[:2] == ("bar", "warp")


class BlockBuilder:
    """Cuts flat code at labels, branches, barriers and warp-wide instructions."""

    def __init__(self, items: list[FlatInstruction | FlatLabel], tables: dict[Name, tuple[str, ...]]) -> None:
        self._items = items
        self._tables = tables
        self._label_of: dict[Name, int] = {}
        self._raw: list[tuple[list[FlatInstruction], FlatInstruction | None]] = []

    def build(self) -> list[Block]:
        self._cut()
        blocks = [self._finish(i, body, last) for i, (body, last) in enumerate(self._raw)]
        return order_blocks(blocks)

    def _cut(self) -> None:
        current: list[FlatInstruction] = []

        def close(last: FlatInstruction | None) -> None:
            nonlocal current
            self._raw.append((current, last))
            current = []

        for item in self._items:
            if isinstance(item, FlatLabel):
                if current:
                    close(None)
                self._label_of[item.name] = len(self._raw)
                continue
            parts = item.instruction.parts
            if parts[0] in ("bra", "ret", "exit", "brx", "trap") or is_barrier(parts):
                close(item)
                continue
            if is_warp_sync(parts) and current:
                close(None)
            current.append(item)
        close(None)

    def _finish(self, index: int, body: list[FlatInstruction], last: FlatInstruction | None) -> Block:
        following = index + 1
        if last is None:
            if following >= len(self._raw):
                return Block(body, Ending.EXIT, ())
            return Block(body, Ending.JUMP, (following,))
        name = last.instruction.name
        if name == "brx":
            return Block(body, Ending.SWITCH, self._switch_targets(last), last)
        if name in ("exit", "trap") or (name == "ret" and last.instance == 0):
            return self._leaving(body, last, following)
        if name == "bra":
            return self._branch(body, last, self._target(last), following)
        if name == "ret":
            return self._branch(body, last, self._label_of[(last.instance, "$return")], following)
        return Block(body, Ending.BARRIER, (following,), last)

    def _leaving(self, body: list[FlatInstruction], last: FlatInstruction, following: int) -> Block:
        if last.instruction.name == "trap":
            if last.instruction.guard is not None:
                raise UnsupportedPtx(f"predicated trap: {last.instruction.text}", last.instruction.line)
            return Block([*body, last], Ending.EXIT, ())
        if last.instruction.guard is None:
            return Block(body, Ending.EXIT, (), last)
        return self._branch(body, last, len(self._raw) - 1, following)

    def _branch(
        self, body: list[FlatInstruction], last: FlatInstruction, target: int, following: int
    ) -> Block:
        if last.instruction.guard is None:
            return Block(body, Ending.JUMP, (target,), last)
        return Block(body, Ending.BRANCH, (target, following), last)

    def _target(self, last: FlatInstruction) -> int:
        operand = last.instruction.operands[0]
        if not isinstance(operand, Symbol) or (last.instance, operand.name) not in self._label_of:
            raise UnsupportedPtx(
                f"branch to an unknown label: {last.instruction.text}", last.instruction.line
            )
        return self._label_of[(last.instance, operand.name)]

    def _switch_targets(self, last: FlatInstruction) -> tuple[int, ...]:
        table = last.instruction.operands[1]
        assert isinstance(table, Symbol)
        names = self._tables[(last.instance, table.name)]
        return tuple(self._label_of[(last.instance, name)] for name in names)


def order_blocks(blocks: list[Block]) -> list[Block]:
    """Keep the reachable blocks and number them: loops before what follows them."""
    for block in blocks:
        block.targets = tuple(_through_empty(blocks, target) for target in block.targets)
    depth = _loop_depths(blocks)
    order: list[int] = []
    state = [0] * len(blocks)
    stack: list[tuple[int, list[int]]] = []

    def push(node: int) -> None:
        state[node] = 1
        successors = sorted(set(blocks[node].targets), key=lambda t: (depth[t], -t))
        stack.append((node, successors[::-1]))

    push(0)
    while stack:
        node, waiting = stack[-1]
        if waiting:
            child = waiting.pop()
            if not state[child]:
                push(child)
        else:
            order.append(node)
            stack.pop()
    order.reverse()
    number = {old: new for new, old in enumerate(order)}
    result = []
    for old in order:
        block = blocks[old]
        block.index = number[old]
        block.targets = tuple(number[t] for t in block.targets)
        result.append(block)
    return result


def _through_empty(blocks: list[Block], target: int) -> int:
    """Where control really goes: blocks that hold nothing are passed over."""
    while (
        not blocks[target].instructions and blocks[target].ending is Ending.JUMP and not blocks[target].last
    ):
        target = blocks[target].targets[0]
    return target


def _loop_depths(blocks: list[Block]) -> list[int]:
    """How many natural loops (found by back edges of a depth-first walk) hold each block."""
    predecessors: list[list[int]] = [[] for _ in blocks]
    for index, block in enumerate(blocks):
        for target in block.targets:
            predecessors[target].append(index)
    depth = [0] * len(blocks)
    loops: dict[int, set[int]] = {}
    for source, header in _back_edges(blocks):
        body = loops.setdefault(header, {header})
        waiting = [source]
        while waiting:
            node = waiting.pop()
            if node not in body:
                body.add(node)
                waiting.extend(predecessors[node])
    for body in loops.values():
        for node in body:
            depth[node] += 1
    return depth


def _back_edges(blocks: list[Block]) -> list[tuple[int, int]]:
    edges: list[tuple[int, int]] = []
    color = [0] * len(blocks)
    stack: list[tuple[int, list[int]]] = [(0, list(blocks[0].targets))]
    color[0] = 1
    while stack:
        node, waiting = stack[-1]
        if not waiting:
            color[node] = 2
            stack.pop()
            continue
        child = waiting.pop()
        if color[child] == 1:
            edges.append((node, child))
        elif color[child] == 0:
            color[child] = 1
            stack.append((child, list(blocks[child].targets)))
    return edges
