"""The pure core: programs, edits, their order, facts, the search and the engine."""
