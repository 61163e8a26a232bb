"""`cuda-rl`: the command line. The only package that prints."""
