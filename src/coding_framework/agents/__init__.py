"""Generator, optimizer and tester: prompts, parsing of answers, chat models."""
