"""Takes the bug out of a program, so that a reduced program can be asked: are you healthy without it?

Decision: nothing here imports shrinkrepro. The product has controls of its own that answer the same
question; two implementations that share no code cannot hide each other's faults. Everything but
``verify`` runs in the target interpreter: stdlib and torch only, Python >= 3.9.
"""
