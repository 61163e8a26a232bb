"""Restyled kernels are the same programs under other names, and say so truly."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from itertools import islice

import numpy as np
import pytest

from coding_framework.cuda.analysis.syntax import parse
from coding_framework.cuda.compiler import CUDACompiler
from coding_framework.cuda.contract import parse_launch_plan, resolve_launches
from coding_framework.cuda.inputs import draw_inputs
from coding_framework.data.pairs.block_sizes import block_variants
from coding_framework.data.pairs.drafts import CatalogueDraft, draft_pairs, families
from coding_framework.data.pairs.layout import Layout, lay_out
from coding_framework.data.pairs.mistakes import MISTAKES, draw_mistake
from coding_framework.data.pairs.naming import new_argument_names, new_kernel_name, new_name
from coding_framework.data.pairs.normal_code import normal_code, tokens
from coding_framework.data.pairs.restyle import DressedKernel
from coding_framework.data.pairs.rewriting import DRESSING_REWRITES
from coding_framework.data.pairs.same_program import is_same_program
from coding_framework.data.pairs.source_edit import Edit, apply_edits, local_names, rename_code
from coding_framework.data.tasks import all_tasks, get_task, variants
from coding_framework.records import Task

ROW_SUM = get_task("row_sum")
SHUFFLE = next(variant.source for variant in variants("row_sum") if variant.name == "warp_shuffle")


def drafted(count: int = 300, seed: int = 4) -> list[CatalogueDraft]:
    return list(islice(draft_pairs(families(all_tasks()), seed), count))


@pytest.fixture(scope="module")
def drafts() -> list[CatalogueDraft]:
    return drafted()


def every_kernel() -> list[tuple[Task, str]]:
    return [(t, s) for t in all_tasks() for s in (t.baseline, *(v.source for v in variants(t.name)))]


def test_a_seed_gives_the_same_drafts_and_another_seed_others(drafts: list[CatalogueDraft]) -> None:
    def facts(found: list[CatalogueDraft]) -> list[tuple[str, str, str]]:
        return [(d.task.prompt, d.answer.kept, d.shown.kept if d.shown else "") for d in found]

    assert facts(drafted()) == facts(drafts)
    assert facts(drafted(seed=5)) != facts(drafts)


def test_almost_no_request_with_its_answer_comes_twice(drafts: list[CatalogueDraft]) -> None:
    different = {(draft.task.prompt, tokens(draft.answer.kept)) for draft in drafts}
    assert len(different) > 0.97 * len(drafts)


def test_the_kept_text_has_the_plan_of_the_judged_text_for_every_shape(drafts: list[CatalogueDraft]) -> None:
    for draft in drafts:
        judged = parse_launch_plan(draft.answer.judged, draft.original)
        kept = parse_launch_plan(draft.answer.kept, draft.task)
        shapes = zip(draft.original.hidden_shapes, draft.task.hidden_shapes, strict=True)
        for old, new in shapes:
            for a, b in zip(
                resolve_launches(judged, draft.original, old),
                resolve_launches(kept, draft.task, new),
                strict=True,
            ):
                assert (a.grid, a.block, a.shared_bytes) == (b.grid, b.block, b.shared_bytes)
                assert len(a.arguments) == len(b.arguments)


def test_a_renamed_task_travels_and_has_the_truth_of_its_original(drafts: list[CatalogueDraft]) -> None:
    renamed = [d for d in drafts if d.task.default_arguments != d.original.default_arguments]
    assert len(renamed) > 50
    for draft in renamed[::7]:
        task: Task = pickle.loads(pickle.dumps(draft.task))
        shapes = task.visible_shapes[0], draft.original.visible_shapes[0]
        inputs = draw_inputs(task, shapes[0], task.distributions[0], 5)
        first = task.oracle(np, {n: a.astype(np.float64) for n, a in inputs.items()}, shapes[0])
        given = dict(
            zip((s.name for s in draft.original.inputs), (inputs[s.name] for s in task.inputs), strict=True)
        )
        second = draft.original.oracle(np, {n: a.astype(np.float64) for n, a in given.items()}, shapes[1])
        for mine, theirs in zip(task.outputs, draft.original.outputs, strict=True):
            np.testing.assert_array_equal(np.asarray(first[mine.name]), np.asarray(second[theirs.name]))


def test_a_request_says_which_name_stands_for_which(drafts: list[CatalogueDraft]) -> None:
    for draft in drafts:
        for old, new in zip(draft.original.default_arguments, draft.task.default_arguments, strict=True):
            assert old == new or f"{old} is called {new}" in draft.task.prompt
            assert new in draft.task.prompt.rpartition("Signature:")[2]


def test_hints_are_given_where_they_are_true_and_only_to_the_writer(drafts: list[CatalogueDraft]) -> None:
    hinted = [d for d in drafts if "threads a block" in d.task.prompt]
    assert hinted
    for draft in hinted:
        assert draft.kind == "write"
        assert any(f"block=({n})" in draft.answer.kept and f"{n} threads" in draft.task.prompt for n in
                   (32, 64, 128, 256, 512, 1024))  # fmt: skip


def test_local_names_are_parameters_variables_and_device_functions() -> None:
    assert local_names(SHUFFLE) == ("x", "y", "rows", "cols", "lane", "r", "total", "c", "offset")
    macro = "#define LAST cols\n" + SHUFFLE
    assert "cols" not in local_names(macro)


def test_a_renaming_leaves_fields_comments_and_other_words_alone() -> None:
    renamed = rename_code(SHUFFLE, {"x": "src"})
    assert "threadIdx.x" in renamed
    assert "const float* src" in renamed
    assert "src[r * cols + c]" in renamed


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply_edits("abcdef", [Edit(0, 3, ""), Edit(2, 4, "")])


def test_new_names_are_new_and_no_words_of_the_language() -> None:
    rng = random.Random(1)
    taken = {"idx", "index", "tid", "x"}
    for _ in range(300):
        assert new_name(rng, "i", taken) not in taken | {"for", "index"}
        assert new_kernel_name(rng, "add", taken) != "add"
        names = new_argument_names(rng, ["x", "y"], ["n"], taken)
        assert len(set(names.values())) == len(names)
        assert not set(names.values()) & taken


def test_a_layout_changes_no_token_but_braces() -> None:
    for _, source in every_kernel():
        for layout in (Layout(indent="\t", brace_on_own_line=True), Layout(keep_remarks=False)):
            assert tokens(lay_out(source, layout)) == tokens(source)
        bare = lay_out(source, Layout(bare_statements=True))
        assert [t for t in tokens(bare) if t not in "{}"] == [t for t in tokens(source) if t not in "{}"]
        assert not parse(bare).has_error or parse(source).has_error


def test_the_normal_form_is_blind_to_names_and_layout_and_to_nothing_else() -> None:
    other = rename_code(SHUFFLE, {"total": "acc", "x": "src", "row_sum": "f"})
    assert normal_code(lay_out(other, Layout(indent="  ", brace_on_own_line=True))) == normal_code(SHUFFLE)
    assert normal_code(SHUFFLE.replace("offset = 16", "offset = 8")) != normal_code(SHUFFLE)
    assert normal_code(SHUFFLE.replace("+=", "-=")) != normal_code(SHUFFLE)


def test_a_block_size_changes_in_the_plan_and_in_the_code_together() -> None:
    wide = next(source for source in block_variants(SHUFFLE) if "block=(256)" in source)
    assert "grid=(ceil_div(rows, 8))" in wide
    assert "blockIdx.x * 8 + threadIdx.x / 32" in wide
    naive = get_task("matmul").baseline
    assert any("grid=(ceil_div(n, 32), ceil_div(m, 8)) block=(32, 8)" in s for s in block_variants(naive))


@pytest.fixture(scope="module")
def compiler() -> CUDACompiler:
    with CUDACompiler() as compiler:
        yield compiler  # type: ignore[misc]


def test_what_dresses_a_kernel_leaves_its_code_as_it_is(compiler: CUDACompiler) -> None:
    plain = compiler.compile(SHUFFLE + "// fresh\n")
    for rewrite, _ in DRESSING_REWRITES:
        changed = rewrite(random.Random(3), SHUFFLE + "// fresh\n")
        assert compiler.compile(changed).ptx_key == plain.ptx_key, rewrite.__name__


def test_the_proof_accepts_other_names_and_refuses_other_code(compiler: CUDACompiler) -> None:
    ptx = compiler.compile(SHUFFLE).ptx
    assert ptx is not None
    kept = SHUFFLE.replace("row_sum", "sum_of_rows")
    names = {"row_sum": "sum_of_rows"}

    def holds(text: str) -> bool:
        kernel = DressedKernel(kept=text, judged=SHUFFLE, kernels=names)
        return is_same_program(kernel, ROW_SUM, ROW_SUM, ptx, compiler.compile)

    assert holds(kept)
    assert not holds(kept.replace("offset = 16", "offset = 8"))
    assert not holds(kept.replace("block=(128)", "block=(64)"))
    assert not holds(kept.replace("total = 0.0f", "total = 1.0f"))
    assert not holds(kept.replace("y[r] = total;", "y[r] = total"))


def test_every_mistake_can_be_made_somewhere_and_changes_the_source() -> None:
    sources = [source for _, source in every_kernel()]
    for mistake in MISTAKES:
        broken = [changed for source in sources for changed in mistake(source) if changed != source]
        assert broken, mistake.__name__


def test_a_mistake_is_found_for_every_kernel() -> None:
    for task, source in every_kernel():
        name, broken = draw_mistake(random.Random(task.name), source)
        assert name
        assert broken != source


def test_sources_can_be_read_by_many_threads_at_once() -> None:
    """In a process of its own: a parser shared between threads would take this one down."""
    program = (
        "import sys\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from coding_framework.data.pairs.normal_code import normal_code\n"
        "from coding_framework.data.tasks import get_task\n"
        "sys.setswitchinterval(1e-5)\n"
        "sources = [get_task(name).baseline for name in ('matmul', 'softmax', 'layer_norm')]\n"
        "def read(n):\n"
        "    return [normal_code(source + f'// {n}') for source in sources]\n"
        "with ThreadPoolExecutor(4) as threads:\n"
        "    found = list(threads.map(read, range(40)))\n"
        "assert all(forms == read(-1) for forms in found)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
