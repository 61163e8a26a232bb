"""Tier 2: linear algebra and norms. One module a task, its kernels beside it as `<task>.<variant>.cu`."""
