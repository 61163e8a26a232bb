"""Tier 0: element-wise. One module a task, its kernels beside it as `<task>.<variant>.cu`."""
