"""The bottleneck in one sentence: what bounds the time, the counters that show it, and what to try.

The same words whether Nsight Compute or the emulator counted, so that an agent learns one language.
"""

from __future__ import annotations

POOR_COALESCING = 0.6
MUCH_REUSE = 2.0


def memory_words(
    *, sectors_per_request: float, coalescing_efficiency: float, sectors: int, times_moved: float
) -> str:
    """Traffic is the limit: spread out, repeated, or near ideal."""
    shown = (
        f"{sectors_per_request:.1f} sectors per request and {coalescing_efficiency:.0%} of the "
        "bytes moved are used"
    )
    if coalescing_efficiency < POOR_COALESCING:
        return f"Bound by memory traffic: {shown}; let neighbouring threads touch neighbouring addresses."
    if times_moved > MUCH_REUSE:
        return (
            f"Bound by memory traffic: each sector is moved {times_moved:.1f} times, {sectors} in all; "
            "reuse data through shared memory or registers."
        )
    return f"Bound by memory traffic: {shown}; access is near ideal, so move fewer bytes or fuse kernels."


def shared_memory_words(*, conflicts_per_access: float, accesses: int) -> str:
    """Shared memory is the limit."""
    return (
        f"Bound by shared memory: {conflicts_per_access:.2f} extra passes per access over {accesses} "
        "accesses; pad the tile's rows by one element or keep more values in registers."
    )


def compute_words(*, instructions: int, mostly: str, warp_execution_efficiency: float) -> str:
    """The instructions themselves are the limit."""
    return (
        f"Bound by instructions: {instructions} warp instructions, {mostly}, at "
        f"{warp_execution_efficiency:.0%} active lanes; do more work per instruction (vector loads, "
        "fewer index computations, less divergence)."
    )


def latency_words(*, shown: str, remedy: str) -> str:
    """Waiting is the limit."""
    return f"Bound by latency: {shown}; {remedy}."


def latency_remedy(*, blocks: int, num_sms: int, occupancy: float, limited_by: str) -> str:
    """More blocks, more warps, or shorter chains."""
    if blocks < num_sms:
        return f"use more blocks (the device has {num_sms} SMs) or more threads per row"
    if occupancy < 0.5:
        return f"occupancy is limited by {limited_by}: use less of it in each block"
    return "shorten each thread's serial chain: split loops over more threads, load several values at once"


def launch_words(*, launches: int, instructions: int) -> str:
    """There is hardly any work."""
    return (
        f"Bound by the launch itself: {launches} launches and only {instructions} warp "
        "instructions; use fewer launches or fuse the work."
    )
