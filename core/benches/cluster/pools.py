"""Measures one of Python's pools of two processes, and prints the figure.

`pools.py POOL MEASURE`, as the benchmark beside it calls it.
"""

import statistics
import sys
import time
from collections import deque

SMALL = bytes(64)
LARGE = bytes(1 << 20)
AHEAD = 8

TASKS = 15_000
TRIPS = 3000
LARGE_TASKS = 200


def echo(payload):
    return payload


def pool(name):
    """What submits a payload, and gives a function that waits for the result."""
    if name == "multiprocessing.Pool":
        from multiprocessing import Pool

        processes = Pool(2)
        return lambda payload: processes.apply_async(echo, (payload,)).get
    if name == "loky":
        from loky import ProcessPoolExecutor
    else:
        from concurrent.futures import ProcessPoolExecutor
    executor = ProcessPoolExecutor(max_workers=2)
    return lambda payload: executor.submit(echo, payload).result


def tasks(submit, payload, count, ahead):
    """Runs so many tasks, at most `ahead` at once."""
    under_way = deque()
    for _ in range(count):
        under_way.append(submit(payload))
        if len(under_way) == ahead:
            assert len(under_way.popleft()()) == len(payload)
    for wait in under_way:
        assert len(wait()) == len(payload)


def rate(submit, payload, count, ahead):
    tasks(submit, payload, count // 10, ahead)
    start = time.perf_counter()
    tasks(submit, payload, count, ahead)
    return count / (time.perf_counter() - start)


def round_trip(submit):
    tasks(submit, SMALL, TRIPS // 10, 1)
    times = []
    for _ in range(TRIPS):
        start = time.perf_counter()
        submit(SMALL)()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


MEASURES = {
    "one_by_one": lambda submit: rate(submit, SMALL, TASKS, TASKS + 1),
    "round_trip": round_trip,
    "large": lambda submit: rate(submit, LARGE, LARGE_TASKS, 1),
    "large_ahead": lambda submit: rate(submit, LARGE, LARGE_TASKS, AHEAD),
}

if __name__ == "__main__":
    _, name, measure = sys.argv
    print(MEASURES[measure](pool(name)))
