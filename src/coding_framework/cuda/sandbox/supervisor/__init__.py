"""The small program that holds a sandboxed program in. Standard library alone, to start quickly."""
