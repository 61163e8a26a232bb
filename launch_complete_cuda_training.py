"""Train end to end: SFT, then multi-turn RL under verl, then the held-out evaluation and a report.

A thin door to `coding_framework.cli.launch`, with the flags. Nothing is imported before Ctrl-C is heeded.
"""

from __future__ import annotations

import sys


def main(arguments: list[str]) -> int:
    try:
        from coding_framework.cli import launch

        return launch.main(arguments)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
