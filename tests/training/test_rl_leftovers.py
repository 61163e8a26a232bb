"""What a killed start left outside its run folder is removed when the run is taken up, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from coding_framework.config import load_config
from coding_framework.errors import NotAvailableError
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.training.plan.machine import Card, Machine, look_at_machine
from coding_framework.training.plan.make import make_plan
from coding_framework.training.rl.leftovers import SHARED_MEMORY, note_folder, note_shared_memory
from coding_framework.training.rl.paths import RLPaths
from coding_framework.training.rl.verl_process import quiet_folder, ray_folder

pytestmark = pytest.mark.skipif(not SHARED_MEMORY.is_dir(), reason="needs /dev/shm")


@pytest.fixture
def paths(tmp_path: Path) -> RLPaths:
    paths = RLPaths(tmp_path / "run", tmp_path / "model", tmp_path / "next")
    paths.rl_dir.mkdir(parents=True)
    paths.ray_temp_dir.mkdir()
    return paths


@pytest.fixture
def weights() -> Iterator[list[Path]]:
    files = [SHARED_MEMORY / f"verl_weights_{uuid4().hex}" for _ in range(2)]
    for file in files:
        file.write_bytes(bytes(1000))
    yield files
    for file in files:
        file.unlink(missing_ok=True)


def take_up(paths: RLPaths) -> None:
    with quiet_folder(paths):
        pass


def test_shared_memory_of_this_run_goes_and_that_of_another_stays(
    paths: RLPaths, weights: list[Path], tmp_path: Path
) -> None:
    mine, of_another = weights
    precious = tmp_path / "precious"
    precious.touch()
    note_shared_memory(paths.rl_dir, mine.name)
    note_shared_memory(paths.rl_dir, f"verl_weights_/../../..{precious}")
    take_up(paths)
    assert not mine.exists()
    assert of_another.exists()
    assert precious.exists()


def test_the_folder_of_rays_sockets_goes_unless_it_is_anothers_by_now(paths: RLPaths, tmp_path: Path) -> None:
    killed, of_another, unmarked = (tmp_path / name for name in ("cfrl-1", "cfrl-2", "cfrl-3"))
    for folder in (killed, of_another, unmarked):
        folder.mkdir()
    for folder in (killed, of_another):
        note_folder(paths.rl_dir, folder)
    note_folder(tmp_path, of_another)
    (paths.rl_dir / "outside.txt").open("a").write(f"{unmarked}\n")
    take_up(paths)
    assert [folder.exists() for folder in (killed, of_another, unmarked)] == [False, True, True]
    assert paths.ray_temp_dir.exists()
    take_up(replace(paths, ray_temp_dir=unmarked))
    assert not paths.ray_temp_dir.exists(), "that of the start before, as if it had been killed"


def test_a_start_that_ends_in_order_leaves_nothing(tmp_path: Path) -> None:
    with ray_folder() as folder:
        take_up(RLPaths(tmp_path, tmp_path, folder))
    assert not folder.exists()


def test_what_verl_shares_is_noted_before_it_is_made(
    paths: RLPaths,
) -> None:
    pytest.importorskip("verl")
    from coding_framework.training.rl.vllm_sender import note_what_is_shared

    transfer = verls_transfer()
    note_what_is_shared(transfer, paths.rl_dir)
    name = f"verl_weights_{uuid4().hex}"
    shared: shared_memory.SharedMemory = transfer.create_shared_memory(64, name)
    try:
        assert (SHARED_MEMORY / name).exists()
        assert (paths.rl_dir / "outside.txt").read_text() == f"{name}\n"
    finally:
        shared.close()
        shared.unlink()


def verls_transfer() -> Any:
    """verl's own file; its package cannot be imported without vLLM."""
    verl = find_spec("verl")
    assert verl is not None
    assert verl.origin is not None
    file = Path(verl.origin).parent / "workers" / "rollout" / "vllm_rollout" / "bucketed_weight_transfer.py"
    spec = spec_from_file_location("transfer", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert "create_shared_memory(self.bucket_size, shm_name)" in file.read_text(), "as its sender calls it"
    return module


def test_the_plan_counts_what_taking_the_run_up_frees(tmp_path: Path, weights: list[Path]) -> None:
    card = Card(name="NVIDIA H200", memory_bytes=141 * 10**9)
    config = load_config(
        "one_gpu", ["rl.num_gpus=2", "rl.gpus.rollout=1", "model.name=smollm2-135m-instruct"]
    )
    packages = [*look_at_machine().packages, "vllm", "verl", "ray", "transfer_queue", "tensordict", "pyarrow"]
    packages += ["transformers", "peft", "torch"]
    needed = 5 * 10**6
    with weights[0].open("wb") as file:
        file.truncate(needed * 10)
    machine = Machine(
        cores=16,
        memory_bytes=128 * 10**9,
        cards=(card, card),
        packages=frozenset(packages),
        free_shared_bytes=needed,
    )
    run = RunFolder.create(tmp_path, "run", config.model_dump_json())
    with pytest.raises(NotAvailableError, match="/dev/shm"):
        make_plan(config, machine, run)
    (run.path / "rl").mkdir()
    note_shared_memory(run.path / "rl", weights[0].name)
    make_plan(config, machine, run)
