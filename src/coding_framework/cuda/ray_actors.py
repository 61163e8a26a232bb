"""Actors of one kind, some of which may die: asking goes on with the others.

Guarantees: a call to an actor that died, hangs or lost its machine raises `JudgeFault` and the actor
is replaced before anybody asks it again; one that finds no room on the cluster within
`START_TIMEOUT_S` leaves the group, and the last to leave raises. Ray is imported when a group is made.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from dataclasses import dataclass, field
from typing import Any

import structlog

from coding_framework.errors import (
    JudgeFault,
    MissingExtraError,
    NotAvailableError,
    WorkerDied,
    WorkerRaised,
    WorkerTimeout,
)

_log = structlog.get_logger(__name__)

START_TIMEOUT_S = 120.0
"""How long an actor may take to start: a process, its imports, and room on some machine."""


def ray_module() -> Any:
    """Ray, or a message that says what to install."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("ray", "verl") from error
    return ray


def connect() -> None:
    """Join the cluster that `RAY_ADDRESS` names, or start one on this machine, unless that was done."""
    ray = ray_module()
    if not ray.is_initialized():
        ray.init(log_to_driver=False)


def cluster_size() -> tuple[int, int]:
    """(CPUs, GPUs) of all machines."""
    resources = ray_module().cluster_resources()
    return int(resources.get("CPU", 0)), int(resources.get("GPU", 0))


@dataclass
class _Member:
    """One actor and its successor after its death."""

    actor: Any
    ready: Any
    """Answer of its `describe`: there once it runs."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    has_left: bool = False


class ActorGroup:
    """`count` actors of class `host`, each answering `lanes` calls at a time."""

    def __init__(
        self,
        host: type,
        arguments: tuple[Any, ...],
        *,
        count: int,
        lanes: int,
        num_cpus: float,
        num_gpus: float = 0,
    ) -> None:
        self._ray = ray_module()
        self._arguments = arguments
        self._kind = self._ray.remote(host).options(
            num_cpus=num_cpus, num_gpus=num_gpus, max_concurrency=lanes + 1, max_restarts=0
        )
        self._members = [self._new_member() for _ in range(count)]
        self._idle: queue.Queue[_Member] = queue.Queue()
        for _ in range(lanes):
            for member in self._members:
                self._idle.put(member)
        self.width = count * lanes

    def describe(self) -> tuple[int, str]:
        """What the first actor that runs says of itself."""
        found: tuple[int, str] = self.call("describe", timeout_s=START_TIMEOUT_S)
        return found

    def process_ids(self) -> list[int]:
        """Of the actors that run now."""
        return [self._ray.get(member.ready, timeout=START_TIMEOUT_S)[0] for member in self._present()]

    def call(self, method: str, *arguments: Any, timeout_s: float) -> Any:
        """Ask the actor that has been idle for longest; raises `JudgeFault`."""
        member = self._next()
        actor = member.actor
        try:
            self._await_ready(member)
            return self._ray.get(getattr(actor, method).remote(*arguments), timeout=timeout_s)
        except self._ray.exceptions.GetTimeoutError:
            self._replace(member, actor)
            raise WorkerTimeout(f"an actor took over {timeout_s:g} s for `{method}`") from None
        except self._ray.exceptions.RayTaskError as error:
            raise WorkerRaised(f"`{method}` raised in an actor\n{error}") from None
        except self._ray.exceptions.RayError as error:
            self._replace(member, actor)
            raise WorkerDied(f"an actor was lost during `{method}`: {error}") from None
        finally:
            if not member.has_left:
                self._idle.put(member)

    def close(self) -> None:
        """Kill every actor; safe to call twice."""
        for member in self._present():
            member.has_left = True
            self._kill(member.actor)

    def _present(self) -> list[_Member]:
        return [member for member in self._members if not member.has_left]

    def _next(self) -> _Member:
        while self._present():
            with contextlib.suppress(queue.Empty):
                member = self._idle.get(timeout=1.0)
                if not member.has_left:
                    return member
        raise JudgeFault("every actor of the pool is gone, and the cluster has no room for a new one")

    def _await_ready(self, member: _Member) -> None:
        done, _ = self._ray.wait([member.ready], timeout=START_TIMEOUT_S)
        if not done:
            self._leave(member)
            raise WorkerDied(f"an actor found no room on the cluster within {START_TIMEOUT_S:g} s")
        self._ray.get(member.ready)

    def _leave(self, member: _Member) -> None:
        with member.lock:
            member.has_left = True
            self._kill(member.actor)
        _log.warning("actor_left", remaining=len(self._present()))
        if not self._present():
            raise NotAvailableError(
                "no actor could be started on the Ray cluster: it has no free CPU (or GPU). "
                "Free some, or use judge.pool=local"
            )

    def _replace(self, member: _Member, lost: Any) -> None:
        with member.lock:
            if member.actor is not lost or member.has_left:
                return  # another caller of the same actor did it
            self._kill(lost)
            fresh = self._new_member()
            member.actor, member.ready = fresh.actor, fresh.ready
        _log.warning("actor_replaced")

    def _new_member(self) -> _Member:
        actor = self._kind.remote(*self._arguments)
        return _Member(actor, actor.describe.remote())

    def _kill(self, actor: Any) -> None:
        with contextlib.suppress(Exception):  # dead already, or the whole cluster is
            self._ray.kill(actor)
