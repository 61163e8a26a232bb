"""How good a model is: episodes on tasks it was not trained on, counted with intervals."""
