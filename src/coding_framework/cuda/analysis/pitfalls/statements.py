"""Statements and declarations of a function's body, in the small language of `ir`.

Guarantees: as for expressions, any tree gives statements. A branch of the preprocessor is read as if
its first arm held; labels are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tree_sitter import Node

from coding_framework.cuda.analysis.pitfalls import ir
from coding_framework.cuda.analysis.pitfalls.lowering import (
    MAX_DEPTH,
    NOTHING,
    Lowering,
)
from coding_framework.cuda.analysis.pitfalls.sizes import type_words
from coding_framework.cuda.analysis.syntax import line_of

EMPTY = ir.Block(())
_TYPE_NODES = frozenset(
    {"type_qualifier", "primitive_type", "type_identifier", "sized_type_specifier", "storage_class_specifier"}
)
_SPLICED = frozenset({"preproc_if", "preproc_ifdef", "labeled_statement", "else_clause"})
_ALTERNATIVES = frozenset({"preproc_else", "preproc_elif", "preproc_elifdef"})


class StatementLowering(Lowering):
    """Adds statements to expressions."""

    _num_returns = 0

    def statement(self, node: Node | None) -> ir.Statement:
        """The statement that a node stands for; nothing becomes an empty block."""
        found = tuple(self.statements([node] if node is not None else []))
        return found[0] if len(found) == 1 else ir.Block(found)

    def statements(self, nodes: Sequence[Node]) -> Iterator[ir.Statement]:
        """One node may declare several names, or be no statement at all."""
        if self._depth >= MAX_DEPTH:
            return
        self._depth += 1
        for node in nodes:
            if node.type == "declaration":
                yield from self.declarations(node)
            elif node.type in _SPLICED:
                yield from self.statements([c for c in node.named_children if c.type not in _ALTERNATIVES])
            elif (reader := _STATEMENTS.get(node.type)) is not None:
                yield reader(self, node)
        self._depth -= 1

    def declarations(self, node: Node) -> Iterator[ir.Declaration]:
        """Every name that a declaration introduces."""
        words = type_words(
            " ".join(self.words(child) for child in node.children if child.type in _TYPE_NODES)
        )
        if node.type == "declaration" and node.has_error:
            return
        value = node.child_by_field_name("value")
        for declarator in node.children_by_field_name("declarator"):
            initial = value
            if declarator.type == "init_declarator":
                initial = declarator.child_by_field_name("value")
                inner = declarator.child_by_field_name("declarator")
                if inner is None:
                    continue
                declarator = inner
            found = self._declared(declarator)
            if found is not None:
                name, is_pointer, extents = found
                first = self._initial(initial)
                yield ir.Declaration(name, words, is_pointer, extents, first, line_of(declarator))

    def _initial(self, node: Node | None) -> ir.Expression | None:
        if node is not None and node.type in ("argument_list", "initializer_list"):
            return self.expression(node.named_children[0]) if node.named_child_count == 1 else NOTHING
        return self.expression(node) if node is not None else None

    def _declared(self, node: Node) -> tuple[str, bool, tuple[ir.Expression | None, ...] | None] | None:
        """Name, whether it is a pointer, and the extents of an array, outermost first."""
        is_pointer, extents = False, []
        current: Node | None = node
        while current is not None and current.type != "identifier":
            if current.type == "array_declarator":
                size = current.child_by_field_name("size")
                extents.append(self.expression(size) if size is not None else None)
            elif current.type == "pointer_declarator":
                is_pointer = True
            elif current.type != "reference_declarator":
                return None
            inner = current.child_by_field_name("declarator")
            current = inner if inner is not None else next(iter(current.named_children), None)
        if current is None:
            return None
        return self.name(current), is_pointer, tuple(reversed(extents)) if extents else None

    def _evaluate(self, node: Node) -> ir.Statement:
        return ir.Evaluate(self.expression(node))

    def block(self, node: Node) -> ir.Block:
        return ir.Block(tuple(self.statements(node.named_children)))

    def _if(self, node: Node) -> ir.Statement:
        condition = node.child_by_field_name("condition")
        second = node.child_by_field_name("alternative")
        before = self._num_returns
        return ir.If(
            self.expression(condition),
            self.statement(node.child_by_field_name("consequence")),
            self.statement(second) if second is not None else None,
            self._num_returns > before,
            line_of(node),
            self.words(condition),
        )

    def _for(self, node: Node) -> ir.Statement:
        start, update = node.child_by_field_name("initializer"), node.child_by_field_name("update")
        condition = node.child_by_field_name("condition")
        first = None
        if start is not None:
            is_declaration = start.type == "declaration"
            first = ir.Block(tuple(self.declarations(start))) if is_declaration else self._evaluate(start)
        self._effects.append((set(), set(), set()))
        step = self.expression(update) if update is not None else None
        counters = frozenset(self._effects[-1][0])
        test = self.expression(condition) if condition is not None else None
        body = self.statement(node.child_by_field_name("body"))
        return ir.Loop(first, test, step, body, True, self._close_loop(counters), line_of(node))

    def _close_loop(self, counters: frozenset[str] = frozenset()) -> ir.LoopEffects:
        assigned, stored, called = self._effects.pop()
        return ir.LoopEffects(frozenset(assigned), frozenset(stored), frozenset(called), counters)

    def _while(self, node: Node) -> ir.Statement:
        self._effects.append((set(), set(), set()))
        test = self.expression(node.child_by_field_name("condition"))
        body = self.statement(node.child_by_field_name("body"))
        is_while = node.type == "while_statement"
        return ir.Loop(None, test, None, body, is_while, self._close_loop(), line_of(node))

    def _range(self, node: Node) -> ir.Statement:
        self._effects.append((set(), set(), set()))
        body = self.statement(node.child_by_field_name("body"))
        return ir.Loop(None, NOTHING, None, body, True, self._close_loop(), line_of(node))

    def _switch(self, node: Node) -> ir.Statement:
        body = node.child_by_field_name("body")
        arms = [] if body is None else [c for c in body.named_children if c.type == "case_statement"]
        condition = self.expression(node.child_by_field_name("condition"))
        return ir.Cases(condition, tuple(self.block(arm) for arm in arms))

    def _return(self, node: Node) -> ir.Statement:
        value = next(iter(node.named_children), None)
        self._num_returns += 1
        return ir.Return(self.expression(value) if value is not None else None, line_of(node))

    def _jump(self, node: Node) -> ir.Statement:
        return ir.Jump(node.type.partition("_")[0])


_STATEMENTS: dict[str, Callable[[StatementLowering, Node], ir.Statement]] = {
    "expression_statement": StatementLowering._evaluate,
    "compound_statement": StatementLowering.block,
    "if_statement": StatementLowering._if,
    "for_statement": StatementLowering._for,
    "while_statement": StatementLowering._while,
    "do_statement": StatementLowering._while,
    "for_range_loop": StatementLowering._range,
    "switch_statement": StatementLowering._switch,
    "return_statement": StatementLowering._return,
    "break_statement": StatementLowering._jump,
    "continue_statement": StatementLowering._jump,
    "goto_statement": StatementLowering._jump,
}
