"""What users see of a run: the live display, the summary, the files that are written, the final layout."""
