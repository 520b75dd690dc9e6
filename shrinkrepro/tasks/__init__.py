"""What a command does, on top of the session, the workers and the oracles."""
