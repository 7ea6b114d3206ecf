"""A worker of gvl_lab, of Python's standard library alone: core/src/cluster/wire/PROTOCOL.md."""

import collections
import json
import os
import signal
import socket
import struct
import sys
import threading
import time

VERSION = 1
SETUP_MAX = 16 << 20
OVERHEAD_MAX = 1024

SETUP, HELLO, REFUSED, TASK, DONE, ACCEPTED = 1, 2, 3, 4, 5, 6
CANCEL, RECALL, RETURNED, ASK, REPORT, DRAIN = 7, 8, 9, 10, 11, 12

OK, FAILED, PANICKED, CANCELLED, TIMED_OUT, TOO_LARGE, NO_HANDLER = range(7)
NAMES = ["ok", "failed", "panicked", "cancelled", "timed out", "too large", "no handler"]


class Failed(Exception):
    """A handler says that it failed."""


class Cancelled(Exception):
    """A handler was told to stop, and did."""


class Task:
    def __init__(self, content):
        self.received = time.monotonic_ns()
        self.started = 0
        self.number, self.deadline, length = struct.unpack_from("<QQB", content)
        self.handler = content[17 : 17 + length].decode()
        self.payload = content[17 + length :]
        self.cancelled = threading.Event()


class Master:
    """The socket: frames in both directions."""

    def __init__(self, sock):
        self.sock = sock
        self.frame_max = SETUP_MAX
        self.writing = threading.Lock()
        self.buffer = bytearray()

    def say(self, kind, content=b""):
        with self.writing:
            self.sock.sendall(struct.pack("<IB", 1 + len(content), kind) + content)

    def hear(self):
        """The next frame; none at the end of the stream."""
        while True:
            if len(self.buffer) >= 4:
                (size,) = struct.unpack_from("<I", self.buffer)
                if not 1 <= size <= self.frame_max:
                    raise ValueError(f"a frame of {size} bytes")
                if len(self.buffer) >= 4 + size:
                    kind, content = self.buffer[4], bytes(self.buffer[5 : 4 + size])
                    del self.buffer[: 4 + size]
                    return kind, content
            chunk = self.sock.recv(1 << 16)
            if not chunk:
                return None
            self.buffer += chunk


class Worker:
    def __init__(self, master, handlers, setup):
        self.master = master
        self.handlers = handlers
        self.setup = setup
        self.changed = threading.Condition()
        self.waiting = collections.deque()
        self.running = {}
        self.ended = collections.Counter()
        self.draining = False

    def serve(self):
        """Obeys the master until it is gone; does not return."""
        # For the thread that waits for it, not for those that are started from here on.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=self.say_when_told_to_end, daemon=True).start()
        serving = self.setup["serving"]
        threads = serving["Threads"]["max"] if "Threads" in serving else serving["EventLoop"]["offload"]
        for _ in range(threads):
            threading.Thread(target=self.work, daemon=True).start()
        names = [name.encode() for name in self.handlers]
        hello = struct.pack("<HI", VERSION, os.getpid())
        self.master.say(HELLO, hello + b"".join(bytes([len(name)]) + name for name in names))
        while (frame := self.master.hear()) is not None:
            self.obey(*frame)
        os._exit(3)

    def obey(self, kind, content):
        if kind == TASK:
            with self.changed:
                self.waiting.append(Task(content))
                self.changed.notify()
        elif kind == CANCEL:
            (number,) = struct.unpack("<Q", content)
            with self.changed:
                for task in [*self.waiting, *self.running.values()]:
                    if task.number == number:
                        task.cancelled.set()
        elif kind == RECALL:
            with self.changed:
                numbers = [task.number for task in self.waiting]
                self.waiting.clear()
            self.master.say(RETURNED, struct.pack(f"<{len(numbers)}Q", *numbers))
        elif kind == ASK:
            self.master.say(REPORT, json.dumps(self.report()).encode())
        elif kind == DRAIN:
            with self.changed:
                self.draining = True
                self.exit_when_drained()
        else:
            raise ValueError(f"a frame of the kind {kind}")

    def work(self):
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.waiting)
                task = self.waiting.popleft()
                self.running[task.number] = task
            cpu = time.thread_time_ns()
            how, content = self.run(task)
            cpu = time.thread_time_ns() - cpu
            times = (task.received, task.started, time.monotonic_ns(), cpu, 0)
            self.master.say(DONE, struct.pack("<6QB", task.number, *times, how) + content)
            with self.changed:
                del self.running[task.number]
                self.ended[NAMES[how]] += 1
                self.exit_when_drained()

    def run(self, task):
        """How a task ended, and what comes with that."""
        most = self.setup["frame_max"] - OVERHEAD_MAX
        if task.cancelled.is_set():
            return CANCELLED, b""
        if 0 < task.deadline <= time.monotonic_ns():
            return TIMED_OUT, b""
        if task.handler not in self.handlers:
            return NO_HANDLER, b""
        task.started = time.monotonic_ns()
        try:
            result = self.handlers[task.handler](task)
        except Cancelled:
            return CANCELLED, b""
        except Failed as why:
            return FAILED, shortened(str(why), most)
        except Exception as error:
            return PANICKED, shortened(repr(error), most)
        return (OK, result) if len(result) <= most else (TOO_LARGE, struct.pack("<Q", len(result)))

    def report(self):
        with self.changed:
            return {
                "queued": len(self.waiting),
                "running": len(self.running),
                "ended": dict(self.ended),
                "cpu_ns": time.process_time_ns(),
                "app": {"language": "Python"},
            }

    def exit_when_drained(self):
        if self.draining and not self.waiting and not self.running:
            os._exit(0)

    def say_when_told_to_end(self):
        while True:
            signal.sigwait({signal.SIGTERM})
            self.master.say(DRAIN)


def shortened(text, most):
    return text.encode()[:most].decode(errors="ignore").encode()


def take_socket():
    """The socket that is standard input, which is empty from now on."""
    if os.environ.pop("GVL_LAB_WORKER", None) != "worker":
        sys.exit("a worker of gvl_lab is started by its master")
    sock = socket.socket(fileno=os.dup(0))
    with open(os.devnull, "rb") as null:
        os.dup2(null.fileno(), 0)
    return sock


def main(handlers):
    master = Master(take_socket())
    kind, content = master.hear() or sys.exit("the master said nothing")
    (version,) = struct.unpack_from("<H", content)
    if (kind, version) != (SETUP, VERSION):
        master.say(REFUSED, f"this worker speaks version {VERSION}, not {version}".encode())
        sys.exit(1)
    setup = json.loads(content[2:])
    if setup["accept"] is not None:
        master.say(REFUSED, b"this worker does not accept connections")
        sys.exit(1)
    master.frame_max = setup["frame_max"]
    Worker(master, handlers, setup).serve()


def fail(task):
    raise Failed(f"told to fail: {task.payload.decode()}")


def throw(task):
    raise RuntimeError(task.payload.decode())


def obey(task):
    if task.payload:
        # Whoever named a file hears that it has begun.
        open(task.payload, "xb").close()
    task.cancelled.wait()
    raise Cancelled


if __name__ == "__main__":
    main(
        {
            "echo": lambda task: task.payload,
            "make": lambda task: bytes(int(task.payload)),
            "exit": lambda task: os._exit(int(task.payload)),
            "fail": fail,
            "throw": throw,
            "obey": obey,
        }
    )
