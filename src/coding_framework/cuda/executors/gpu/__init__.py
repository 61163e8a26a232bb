"""Kernels on a real GPU, through the driver API and without torch."""
