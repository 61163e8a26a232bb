"""Pure functions from evaluations to rewards."""
