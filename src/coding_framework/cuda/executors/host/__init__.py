"""Candidates with host code (`extension`, `module`), held in a sandbox and timed from outside."""
