"""Training pairs from the catalogue: every kernel restyled, broken and repaired, or made faster."""
