"""The judge: the only package that handles untrusted code. Imports nothing when imported."""
