"""Runs a translated kernel: lanes, memory spaces, warp-wide operations, scheduling, counting."""
