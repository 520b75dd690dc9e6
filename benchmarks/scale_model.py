"""A batch on many workers, simulated: where another worker stops paying, and which part is to blame.

Decision: only what limits is modelled: works go out by one driver, which also hears every event; a stage ends with its
last script; a shared cache, where there is one, answers one question at a time. Durations are drawn from measured ones.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import simpy

Steps = Generator[simpy.Event, None, None]
SLICES = 4  # in which a work's events and questions come: finer ones change nothing and take longer


@dataclass(frozen=True)
class Costs:
    """What was measured. Times in seconds."""

    check: tuple[float, ...]  # of a worker, a script
    reduce: tuple[float, ...]
    start: float  # from the wish for a worker until it runs
    event: float  # of the driver, for each event and each work that it hands out
    check_events: float  # a script
    reduce_events: float
    queries: float  # a reduction
    lookup: float = 0.0  # of a cache shared by all, for each query; 0: there is none


@dataclass(frozen=True)
class Harvest:
    """What there is to do: ``scripts`` to check, then one of each of ``bugs`` to reduce."""

    scripts: int
    bugs: int


@dataclass(frozen=True)
class Outcome:
    """How it went. ``driver`` and ``cache``: the share of the time in which they were busy."""

    workers: int
    seconds: float
    efficiency: float  # what all workers did for a second that they were there
    driver: float
    cache: float
    stragglers: float  # the share of the time in which some worker had nothing left to do and a stage went on


class _Run:
    """One simulation."""

    def __init__(self, costs: Costs, workers: int) -> None:
        self.world = simpy.Environment()
        self.costs = costs
        self.driver = simpy.Resource(self.world)
        self.cache = simpy.Resource(self.world)
        self.workers = workers
        self.driver_busy = self.cache_busy = self.worked = self.held_up = 0.0

    def stage(self, durations: Sequence[float], events: float, questions: float) -> Steps:
        """Do works of ``durations`` by all workers; over when the last is done."""
        left, begun = list(durations), self.world.now
        ends: list[float] = []  # when each worker found nothing left
        yield simpy.AllOf(
            self.world,
            [
                self.world.process(self._worker(left, ends, events, questions))
                for _ in range(min(self.workers, len(left)))
            ],
        )
        self.held_up += max(ends) - (min(ends) if self.workers <= len(durations) else begun)

    def _worker(self, left: list[float], ends: list[float], events: float, questions: float) -> Steps:
        while left:
            duration = left.pop()
            yield from self._heard(1.0)
            for part in range(1, SLICES + 1):
                yield self.world.timeout(duration / SLICES)
                if questions and self.costs.lookup:
                    yield from self._asked(questions / SLICES)
                told = self.world.process(self._heard(events / SLICES))
                if part == SLICES:  # only of its end must the driver have heard before the next work comes
                    yield told
            self.worked += duration
        ends.append(self.world.now)

    def _heard(self, events: float) -> Steps:
        with self.driver.request() as turn:
            yield turn
            self.driver_busy += events * self.costs.event
            yield self.world.timeout(events * self.costs.event)

    def _asked(self, questions: float) -> Steps:
        with self.cache.request() as turn:
            yield turn
            self.cache_busy += questions * self.costs.lookup
            yield self.world.timeout(questions * self.costs.lookup)


def simulate(costs: Costs, harvest: Harvest, workers: int, seed: int = 0) -> Outcome:
    """One batch on ``workers`` workers; the same for the same arguments."""
    chance = random.Random(f"scale {seed}")
    checks = chance.choices(costs.check, k=harvest.scripts)
    reductions = chance.choices(costs.reduce, k=harvest.bugs)
    return replay(costs, checks, reductions, workers)


def replay(costs: Costs, checks: Sequence[float], reductions: Sequence[float], workers: int) -> Outcome:
    """One batch of works with these very durations, the first first."""
    run = _Run(costs, workers)

    def all_stages() -> Steps:
        yield run.world.timeout(costs.start)
        for durations, events, questions in (
            (checks, costs.check_events, 0.0),
            (reductions, costs.reduce_events, costs.queries),
        ):
            if durations:
                yield run.world.process(run.stage(durations[::-1], events, questions))

    run.world.run(run.world.process(all_stages()))
    seconds = run.world.now
    return Outcome(
        workers,
        seconds,
        run.worked / (workers * seconds),
        run.driver_busy / seconds,
        run.cache_busy / seconds,
        run.held_up / seconds,
    )


def worth(costs: Costs, harvest: Harvest, least: float = 0.5, most: int = 4096, seed: int = 0) -> int:
    """The most workers, as a power of two, that are busy for ``least`` of the time; 1 if not even one is."""
    found = 1
    while found * 2 <= most and simulate(costs, harvest, found * 2, seed).efficiency >= least:
        found *= 2
    return found
