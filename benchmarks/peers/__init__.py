"""Other reducers on the same scripts, with the same test of what is interesting, on the same core and budget.

Decision: the test itself keeps the record. Every peer asks it through one small client, so that time, queries and sizes
mean the same for all of them, and nothing that a peer says of itself is believed.
"""
