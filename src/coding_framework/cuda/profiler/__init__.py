"""Where the time goes: Nsight Compute and compute-sanitizer, into the records of the project."""
