"""Tier 3: fused operations. One module a task, its kernels beside it as `<task>.<variant>.cu`."""
