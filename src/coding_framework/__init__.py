"""Train language models to write fast, correct CUDA kernels, with or without a GPU.

Reading order: `records/` (the nouns), `cuda/judge.py` (the one door into the judge),
`orchestration/episode.py` (one conversation), `training/verl_integration.py` (how rewards become
weights), `pipeline.py` (the whole story).
"""

__version__ = "0.1.0"
