"""Reinforcement learning through verl: plug-ins, the agent loop, the launcher.

Modules fall in two groups. `cpu_platform`, `cpu_engine`, `rollout_replica`, `rollout_server`,
`agent_loop` and `turn_trainer` import verl and live inside the processes that verl starts; everything
else is free of it, so that a configuration can be checked without loading torch.
"""
