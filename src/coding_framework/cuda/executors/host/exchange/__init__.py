"""The memory that a candidate and the judge share, and the messages about it; both sides import this."""
