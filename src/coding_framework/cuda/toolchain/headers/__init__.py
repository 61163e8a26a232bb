"""CUDA header texts that NVRTC receives in memory; a package so that they are installed with us."""
