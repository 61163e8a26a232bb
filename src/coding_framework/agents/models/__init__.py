"""Language models: where they come from (`store`) and how tokens are sampled (`chat_model`)."""
