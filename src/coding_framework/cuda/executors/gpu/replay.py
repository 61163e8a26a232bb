"""`python -m coding_framework.cuda.executors.gpu.replay FILE`: run one stored request once.

What Nsight Compute and compute-sanitizer are pointed at: no judge, no harness kernels, one run of
the candidate's own launches. The file is a pickle that this project wrote.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from coding_framework.cuda.executors.base import ExecutionRequest

MODULE = "coding_framework.cuda.executors.gpu.replay"


def write_request(request: ExecutionRequest, path: Path) -> None:
    """Store a request for `replay`."""
    path.write_bytes(pickle.dumps(request))


def replay(path: Path, device_index: int = 0) -> None:
    """Each buffer in an allocation of its own, so that a memory checker sees where it ends."""
    from cuda.bindings import driver

    from coding_framework.cuda.executors.gpu.driver import call, open_device
    from coding_framework.cuda.executors.gpu.session import LoadedModule, fire, upload

    request: ExecutionRequest = pickle.loads(path.read_bytes())
    open_device(device_index)
    addresses = {}
    for name, buffer in request.buffers.items():
        addresses[name] = int(call(driver.cuMemAlloc(max(buffer.nbytes, 4))))
        upload(addresses[name], buffer, 0)
    module = LoadedModule(request.cubin, request.ptx)
    for launch in request.launches:
        fire(module.prepare(launch, addresses), 0)
    call(driver.cuCtxSynchronize())


if __name__ == "__main__":
    replay(Path(sys.argv[1]))
