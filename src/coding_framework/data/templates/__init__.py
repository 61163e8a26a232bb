"""Synthetic tasks and their kernels, made from tables: raw material for supervised fine-tuning."""
