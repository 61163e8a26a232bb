"""Reinforcement learning through verl: plug-ins, the agent loop, the launcher.

Modules fall in two groups. The plug-ins that `names` lists, and what they alone need, import verl and live
inside the processes that verl starts; everything else is free of it, so that a configuration can be checked
without loading torch.
"""
