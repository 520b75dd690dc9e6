"""What the failure needs: the slice from the last statement that ran in each block."""

from __future__ import annotations

from shrinkrepro_strategies import needed

from tests.helpers import candidates, normal
from tests.strategies.observed import ran

SOURCE = """
import math
class Log:
    def __init__(self):
        self.seen = []
        self.total = 0
    def add(self, x):
        self.seen.append(x)
        return x
    def last(self):
        return self.seen[0]
def noise(x):
    return math.sin(x)
log = Log()
other = noise(1)
y = 2
for i in range(3):
    other = noise(i)
    log.add(y)
print(other)
z = log.last()
1 / (z - 2)
print(z)
"""


def test_only_what_the_last_statement_reads_is_kept() -> None:
    least, with_statements, *_ = candidates(needed.keep_needed, SOURCE, ran(SOURCE))
    assert "noise" not in with_statements
    assert "total" not in with_statements
    assert "self.seen.append(x)" in with_statements
    assert "log.add(y)" in with_statements
    assert "log.add(y)" not in least
    assert least.endswith("z = log.last()\n1 / (z - 2)")


def test_the_turn_of_a_loop_that_failed_is_kept() -> None:
    source = "a = [1, 0]\nb = 3\nfor x in a:\n    c = b\n    y = 1 / x\n    d = c\n    e = b"
    assert candidates(needed.keep_needed, source, ran(source))[0] == normal(
        "a = [1, 0]\nb = 3\nfor x in a:\n    y = 1 / x\n    e = b"
    )


def test_without_facts_nothing_is_proposed() -> None:
    assert candidates(needed.keep_needed, SOURCE) == []
