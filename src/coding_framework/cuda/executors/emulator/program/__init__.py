"""PTX records into a runnable program: calls inlined, blocks ordered, Python generated for each block."""
