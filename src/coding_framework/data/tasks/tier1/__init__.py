"""Tier 1: reductions and data movement. One module a task, its kernels beside it as `<task>.<variant>.cu`."""
