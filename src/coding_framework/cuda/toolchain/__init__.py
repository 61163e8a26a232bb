"""NVRTC, nvcc, their messages, the stand-in headers, the compile cache and what is on this machine."""
