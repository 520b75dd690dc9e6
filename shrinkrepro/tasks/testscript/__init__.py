"""One test as a plain script.

Decision: this folder stands alone (the standard library and pytest), because it runs as a plugin in the interpreter
that has the torch under test and may have nothing of ours; it is copied there, and its imports are relative.
"""
