"""What instructions compute, on NumPy scalars and arrays alike; no lanes, no memory."""
