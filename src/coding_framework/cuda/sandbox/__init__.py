"""Holding untrusted host code in: Docker, bubblewrap, or a plain process; one contract for all."""
