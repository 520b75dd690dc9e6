"""The target half: what runs in the interpreter that has the torch under test.

Decision: stdlib and torch only, Python >= 3.9, and nothing is installed into the target: the host starts
``launch.py`` by its path, and that loads this folder and ``protocol.py`` by their location.
"""
