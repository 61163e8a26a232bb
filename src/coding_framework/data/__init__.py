"""What the agents learn from: the catalogue of tasks and the pairs for supervised fine-tuning."""
