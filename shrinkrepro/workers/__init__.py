"""The host side of the target: starts it, feeds it, times it out, kills it and starts it again."""
