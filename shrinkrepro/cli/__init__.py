"""The command line: options in, text and an exit code out; one module for each command."""
