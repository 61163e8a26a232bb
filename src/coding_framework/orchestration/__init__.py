"""How agents, judge and reward meet in one conversation."""
