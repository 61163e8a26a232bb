"""What runs compiled kernels: a GPU, or PTX on the CPU, behind one seam (`base.py`)."""
