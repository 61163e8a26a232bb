"""Run as a script: parses standard input and ends, or is ended by its limits.

Error recovery of the parser can take minutes and gigabytes on noise (50 kB of one such text took 2.2 GB)
and cannot be stopped from within. Long sources are therefore parsed here first, in a process that may
die. Exit status 0 says that parsing the same text elsewhere is harmless.
"""

from __future__ import annotations

import resource
import signal
import sys

MAX_CPU_S = 0.25
MAX_MEMORY_BYTES = 1 << 30


def main() -> None:
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    signal.setitimer(signal.ITIMER_PROF, MAX_CPU_S)
    Parser(Language(tree_sitter_cuda.language())).parse(sys.stdin.buffer.read())


if __name__ == "__main__":
    main()
