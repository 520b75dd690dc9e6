"""Bugs planted in torch from outside a program: the ground truth for what a reduction may end as."""
