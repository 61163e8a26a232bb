"""From rewards to weights: reward functions, conversations, SFT and RL."""
