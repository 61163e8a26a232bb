"""Registers, shared memory and spills out of ptxas' words."""

from __future__ import annotations

import pytest

from coding_framework.cuda.toolchain.ptxas_report import entry_names, parse_resources, plain_name

REPORT = """
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'foo' for 'sm_90'
ptxas info    : Function properties for foo
ptxas         .     16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers, 144 bytes smem
ptxas info    : Compiling entry function 'bar' for 'sm_90'
ptxas info    : Function properties for bar
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 18 registers, used 1 barriers
"""


def test_every_kernel_has_its_resources() -> None:
    found = parse_resources(REPORT)
    assert list(found) == ["foo", "bar"]
    assert found["foo"].model_dump() == {
        "kernel": "foo",
        "registers": 10,
        "static_shared_bytes": 144,
        "local_bytes": 16,
        "spill_store_bytes": 8,
        "spill_load_bytes": 4,
        "theoretical_occupancy": {},
    }
    assert found["bar"].static_shared_bytes == 0


def test_a_report_that_stops_short_gives_nothing() -> None:
    assert parse_resources("Compiling entry function 'foo' for 'sm_90'\n") == {}
    assert parse_resources("Compiling entry function 'foo'\nUsed 3 registers")["foo"].local_bytes == 0


def test_entries_are_read_from_ptx() -> None:
    ptx = ".visible .entry a(\n)\n.weak .entry _Z1bv()\n.entry c()\n// .entry d\n.func e()"
    assert entry_names(ptx) == ("a", "_Z1bv", "c")


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_Z3fooPf", "foo"),
        ("_ZN2ns3barEPf", "bar"),
        ("_Z2tkILi3EEvPf", "tk"),
        ("_ZL3foov", "foo"),
        ("k", None),
    ],
)
def test_a_mangled_name_gives_the_plain_one(mangled: str, name: str | None) -> None:
    assert plain_name(mangled) == name
