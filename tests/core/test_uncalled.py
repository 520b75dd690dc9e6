"""Tests that nothing calls."""

from __future__ import annotations

import pytest

from shrinkrepro.core.uncalled import uncalled_tests


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def test_a(): pass\nasync def test_b(): pass\ndef helper(): pass", ["test_a", "test_b"]),
        ("class TestA:\n    def test_b(self): pass\n    def setUp(self): pass", ["TestA::test_b"]),
        ("def test_a(): pass\ntest_a()", []),
        ("class TestA:\n    def test_b(self): pass\nTestA().test_b()", []),
        ("import unittest\ndef test_a(): pass\nunittest.main()", []),
        ("from unittest import main\nclass TestA:\n    def test_b(self): pass\nmain()", []),
        ("def test_a(): pass\nif __name__ == '__main__':\n    run_tests()", []),
        ("x = 1", []),
    ],
)
def test_tests_that_nothing_calls_are_named_as_pytest_does(source: str, names: list[str]) -> None:
    assert uncalled_tests(source) == names
