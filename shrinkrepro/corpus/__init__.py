"""The corpus: cases, each one Python file that anyone can run; their format, and how they are found and compared."""
