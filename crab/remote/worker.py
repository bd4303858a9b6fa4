"""The one thread on which a device is used, call after call, while the event loop stays free."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from crab.remote.protocol import Reply


@dataclass
class Job:
    """One call that waits for, or has, the device.

    Attributes:
        verb: What it is.
        label: The call, for messages.
        work: Carries it out; never raises.
        future: Its reply, on the event loop.
        due: Monotonic time at which its client gives up.
        started: Monotonic time at which it got the device, or None.
        abandoned: Set when nobody waits any more; it is then never started.
    """

    verb: str
    label: str
    work: Callable[[], Reply]
    future: asyncio.Future[Reply]
    due: float
    started: float | None = None
    abandoned: bool = False


class DeviceThread:
    """Runs jobs in order on a thread of its own, which does not hold up the end of the process.

    Args:
        loop: Where the results go.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._current: Job | None = None
        self._waiting = 0
        threading.Thread(target=self._work, name="crab-device", daemon=True).start()

    @property
    def idle(self) -> bool:
        """Whether no job has the device and none waits for it."""
        with self._lock:
            return self._current is None and self._waiting == 0

    def current(self) -> Job | None:
        """Returns the job that has the device now, or None."""
        with self._lock:
            return self._current

    def submit(self, verb: str, label: str, work: Callable[[], Reply], seconds: float) -> Job:
        """Puts a job at the end of the line.

        Args:
            verb: What it is.
            label: For messages.
            work: Runs on the device's thread; must not raise.
            seconds: Until its client gives up.
        """
        future: asyncio.Future[Reply] = self._loop.create_future()
        job = Job(verb, label, work, future, time.monotonic() + seconds)
        with self._lock:
            self._waiting += 1
        self._jobs.put(job)
        return job

    def abandon(self, job: Job) -> bool:
        """Makes sure that a job is never started; returns False when it has been already."""
        with self._lock:
            if job.started is not None:
                return False
            job.abandoned = True
            return True

    def stop(self) -> None:
        """Ends the thread after the job it has."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            with self._lock:
                self._waiting -= 1
                if job.abandoned:
                    continue
                job.started = time.monotonic()
                self._current = job
            reply = job.work()
            with self._lock:
                self._current = None
            # The loop is closed when the server was ended in the middle of a call: nobody is left to tell.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(job.future.set_result, reply)
