"""One error tree. A kernel's failure is a value (an `Evaluation`); only *our* failures are raised.

FrameworkError                 exit code 1
├── UserError                  exit code 2: the request cannot be carried out as written
│   ├── ConfigError            unknown key, wrong type, values that contradict each other
│   ├── UnknownTaskError       no task of that name in the catalogue
│   ├── CandidateInputError    the file given as a candidate is missing, empty or huge
│   ├── ExpressionError        an integer expression that does not parse or evaluate
│   ├── OwnCodeError           a reward or a model of the user's own failed while it was used
│   └── ModelNotFoundError     no such model in the cache, on disk or on the hub
├── NotAvailableError          exit code 3: this machine lacks something; the message says what
│   ├── MissingExtraError      an optional dependency; the message names the extra
│   ├── DatasetUnreachableError  a data set on the hub that does not answer
│   └── ToolchainMissingError  no usable CUDA compiler
├── JudgeFault                 exit code 4: the judge failed, never the kernel: no reward is given
│   ├── WorkerDied             a worker process ended without an answer
│   │   ├── WorkerOutOfMemory  ... because it ran into its memory limit
│   │   └── WorkerNotStarted   ... before it was given anything to do
│   ├── WorkerTimeout          a worker did not answer in time and was killed
│   ├── DeviceFull             others have the GPU's memory: nothing can be said of the candidate
│   └── WorkerRaised           the worker's own code raised: the original traceback is kept
├── TaskLintError              exit code 1: a task of the catalogue can be passed without solving it
├── StorageError               exit code 5: the disk is full or a file cannot be written
└── TrainingError              exit code 6: training stopped; what was finished stays usable
    └── TrainingInterrupted    exit code 130: the user asked to stop
"""

from __future__ import annotations


class FrameworkError(Exception):
    """Root of everything this package raises on purpose."""

    exit_code = 1


class UserError(FrameworkError):
    """The request is at fault; the message says what to change."""

    exit_code = 2


class ConfigError(UserError):
    """A configuration that cannot be used."""


class UnknownTaskError(UserError):
    """A task name that is not in the catalogue."""


class CandidateInputError(UserError):
    """A candidate file that cannot be read as one."""


class ExpressionError(UserError):
    """An integer expression that does not parse, or has no value for the given dimensions."""


class OwnCodeError(UserError):
    """A reward or a model of the user's own raised, or gave back something else than it must.

    Never turned into a low reward: whoever used it stops.
    """


class ModelNotFoundError(UserError):
    """A model that is neither cached, nor a folder, nor reachable."""


class NotAvailableError(FrameworkError):
    """This machine lacks something the request needs."""

    exit_code = 3


class MissingExtraError(NotAvailableError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"{package} is not installed: run  pip install 'coding_framework[{extra}]'  "
            f"(or `make setup`, which installs every extra)"
        )


class DatasetUnreachableError(NotAvailableError):
    """A data set that is neither cached nor reachable; the message says what can be done."""


class ToolchainMissingError(NotAvailableError):
    """No usable CUDA compiler on this machine."""


class JudgeFault(FrameworkError):
    """The judge itself failed. Never turned into a low reward: retried, or dropped and counted."""

    exit_code = 4


class WorkerDied(JudgeFault):
    """A worker process ended without an answer."""


class WorkerOutOfMemory(WorkerDied):
    """A worker ran into its memory limit; it was replaced."""


class WorkerNotStarted(WorkerDied):
    """A worker process could not be started, or ended before its first call: nobody's code but ours."""


class WorkerTimeout(JudgeFault):
    """A worker did not answer within its limit; it was killed and will be replaced."""


class DeviceFull(JudgeFault):
    """The GPU's memory is taken, perhaps by others: whatever went wrong says nothing of the candidate."""


class WorkerRaised(JudgeFault):
    """The worker's code raised; the message holds its traceback."""


class TaskLintError(FrameworkError):
    """A task that an adversary passes, or that breaks a rule of the catalogue."""


class StorageError(FrameworkError):
    """A file could not be written; partial files were removed."""

    exit_code = 5


class TrainingError(FrameworkError):
    """Training stopped before its end; finished steps stay usable with `--resume`."""

    exit_code = 6


class TrainingInterrupted(TrainingError):
    """The user asked to stop."""

    exit_code = 130
