"""The trusted process that knows the right answers; imports torch late."""
