"""How fast, and how steady, the parts of the system are on this machine; all figures of one run."""
