"""What a training will do on this machine, settled and shown before anything is spent."""
