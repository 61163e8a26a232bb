"""The program in the sandbox, which shares its process with a candidate; imports torch late."""
