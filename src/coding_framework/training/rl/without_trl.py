"""verl plug-in: TRL does not exist in verl's processes.

Where TRL is installed (the extra `compare`), verl takes a class from it that TRL 1.16 no longer has, and
no policy can be loaded. Nothing here needs it: None in `sys.modules` is Python's own way to say that a
package cannot be imported.
"""

from __future__ import annotations

import sys

sys.modules["trl"] = None  # type: ignore[assignment]
