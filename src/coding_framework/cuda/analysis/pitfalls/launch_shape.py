"""Rule `low-occupancy`: blocks and grids that leave the device idle, from the plan and ptxas.

Judged for the device model that the judge uses. Expressions over dimensions are judged only where
they are constant, so nothing is claimed about a grid that grows with the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from coding_framework.cuda.analysis.pitfalls.report import WARP, pitfall
from coding_framework.cuda.executors.emulator.device_model import H200, DeviceModel
from coding_framework.cuda.executors.emulator.occupancy import occupancy
from coding_framework.errors import ExpressionError
from coding_framework.records import Expression, KernelResources, LaunchPlan
from coding_framework.records.candidate import Launch
from coding_framework.records.finding import Finding

LOW_SHARE = 0.5
"""Below half of the SM's warps, latency is hard to hide."""
SMALL_BLOCK = 64


def low_occupancy(
    plan: LaunchPlan, resources: Sequence[KernelResources], device: DeviceModel = H200
) -> Iterator[Finding]:
    """What each launch of the plan wastes."""
    needs = {item.kernel: item for item in resources}
    for launch in plan.launches:
        threads = _constant(launch.block)
        if threads is not None and 1 <= threads <= 1024:
            yield from _block(launch, threads)
            if launch.kernel in needs:
                yield from _resident(launch, threads, needs[launch.kernel], device)
        blocks = _constant(launch.grid)
        if blocks is not None and 1 <= blocks < device.num_sms // 4:
            yield from _grid(launch, blocks, device)


def _constant(extents: Sequence[Expression]) -> int | None:
    try:
        return prod(extent.evaluate({}) for extent in extents)
    except ExpressionError:
        return None


def _block(launch: Launch, threads: int) -> Iterator[Finding]:
    if threads % WARP:
        idle = -threads % WARP
        yield pitfall(
            "low-occupancy",
            "warning",
            launch.line,
            f"a block of `{launch.kernel}` has {threads} threads, which is no multiple of 32: {idle} lanes "
            "of its last warp never work",
            "Use a block size that is a multiple of 32, such as 128 or 256.",
        )
    elif threads < SMALL_BLOCK:
        yield pitfall(
            "low-occupancy",
            "warning",
            launch.line,
            f"a block of `{launch.kernel}` has only {threads} threads: an SM holds at most 32 blocks, so at "
            f"most {threads // WARP * 32} of its 64 warps can be resident",
            "Use blocks of 128 or 256 threads and give each of them more rows or elements.",
        )


def _resident(launch: Launch, threads: int, needs: KernelResources, device: DeviceModel) -> Iterator[Finding]:
    dynamic = _constant((launch.shared_bytes,)) or 0
    held = occupancy(threads, needs.registers, needs.static_shared_bytes + dynamic, device)
    if held.share < LOW_SHARE and held.limited_by in ("registers", "shared memory"):
        used = (
            f"{needs.registers} registers a thread"
            if held.limited_by == "registers"
            else f"{needs.static_shared_bytes + dynamic} bytes of shared memory a block"
        )
        yield pitfall(
            "low-occupancy",
            "warning",
            launch.line,
            f"`{launch.kernel}` with {threads} threads a block fills {held.share:.0%} of an SM's warps, "
            f"limited by {held.limited_by} ({used})",
            f"Use less of it (smaller tiles, fewer values a thread, or `__launch_bounds__({threads}, 2)`).",
        )
    if needs.spill_store_bytes or needs.spill_load_bytes:
        yield pitfall(
            "low-occupancy",
            "warning",
            launch.line,
            f"`{launch.kernel}` spills registers: {needs.spill_store_bytes} bytes stored and "
            f"{needs.spill_load_bytes} bytes loaded a thread go through local memory",
            "Keep fewer values alive at once: smaller register tiles or less unrolling.",
        )


def _grid(launch: Launch, blocks: int, device: DeviceModel) -> Iterator[Finding]:
    yield pitfall(
        "low-occupancy",
        "info",
        launch.line,
        f"`{launch.kernel}` is launched with {blocks} block{'s' if blocks > 1 else ''}, and the device has "
        f"{device.num_sms} SMs: most of it stays idle",
        "Split the work over more blocks, or make this launch do as little as it can.",
    )
