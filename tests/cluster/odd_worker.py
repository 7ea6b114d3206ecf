"""Workers that break the protocol, each in the way that its argument names."""

import os
import signal
import socket
import struct
import sys

HELLO = bytes.fromhex("0c000000 02 0100 01000000 04 6563686f")
DONE = 5

sock = socket.socket(fileno=os.dup(0))
received = bytearray()


def say(content):
    sock.sendall(content)


def frame(kind, content=b""):
    return struct.pack("<IB", 1 + len(content), kind) + content


def done(number, result):
    return frame(DONE, struct.pack("<6QB", number, 0, 0, 0, 0, 0, 0) + result)


def hear():
    """The next frame's kind and content; the process ends with the stream, or when told to."""
    while len(received) < 4 or len(received) < 4 + struct.unpack_from("<I", received)[0]:
        received.extend(sock.recv(1 << 16) or os._exit(3))
    size = 4 + struct.unpack_from("<I", received)[0]
    whole = bytes(received[:size])
    del received[:size]
    if whole[4] == 12:
        os._exit(0)
    return whole[4], whole[5:]


def task():
    """The number of the next task."""
    while True:
        kind, content = hear()
        if kind == 4:
            return struct.unpack_from("<Q", content)[0]


def wait():
    signal.pause()


def echo():
    while True:
        say(done(task(), b"mine"))


def before(first):
    """Says something instead of a hello."""
    say(first)
    wait()


def instead(answer):
    """Says something instead of an answer."""
    say(HELLO)
    task()
    say(answer)
    wait()


def leaves(answer):
    """Says something and exits."""
    say(HELLO)
    task()
    say(answer)
    os._exit(0)


def answers(answer):
    """Says something for each task."""
    say(HELLO)
    while True:
        say(answer(task()))


def closes():
    say(HELLO)
    task()
    os.close(0)
    sock.close()
    wait()


def with_its_hello(more):
    say(HELLO + more)
    while True:
        hear()


def answer_asks(report):
    say(HELLO)
    while True:
        if hear()[0] == 10:
            say(frame(11, report))


WAYS = {
    "silent": wait,
    "nonsense first": lambda: before(b"nonsense, and more of it"),
    "half a hello": lambda: (say(HELLO[:9]), os._exit(0)),
    "another version": lambda: before(HELLO[:5] + b"\2\0" + HELLO[7:]),
    "done first": lambda: before(done(1, b"")),
    "an empty name": lambda: before(frame(2, bytes.fromhex("0100 01000000 00"))),
    "too many handlers": lambda: before(frame(2, bytes.fromhex("0100 01000000") + b"\1n" * 4097)),
    "refuses": lambda: before(frame(3, b"not today")),
    "too long": lambda: instead(struct.pack("<I", (16 << 20) + 1)),
    "as long as can be": lambda: instead(b"\xff" * 4),
    "no kind": lambda: instead(bytes(4)),
    "an unknown kind": lambda: instead(frame(13)),
    "a setup": lambda: instead(frame(1, b"\1\0{}")),
    "a second hello": lambda: instead(HELLO),
    "accepted": lambda: instead(frame(6, bytes(4))),
    "nonsense": lambda: instead(bytes(range(256)) * 4096),
    "bytes left over": lambda: instead(frame(12, b"x")),
    "not utf-8": lambda: instead(frame(DONE, bytes(48) + b"\1\xff")),
    "closes": closes,
    "half a frame": lambda: leaves(done(1, b"half")[:30]),
    "half a length": lambda: leaves(b"\7\0"),
    "gives back unasked": lambda: answers(lambda number: frame(9, struct.pack("<Q", number))),
    "answers, then nonsense": lambda: answers(lambda number: done(number, b"mine") + frame(13)),
    "answers twice": lambda: answers(lambda number: done(number, b"mine") + done(number, b"again")),
    "answers for others": lambda: answers(
        lambda number: b"".join(done(number + n, b"stolen") for n in (-1, 1, 2, 1 << 40))
        + done(number, b"mine")
    ),
    "no report": lambda: answer_asks(b"no JSON"),
    "a report nobody asked for": lambda: (say(HELLO + frame(11, b"{}")), echo()),
    "nonsense with its hello": lambda: with_its_hello(frame(13)),
    "ends with its hello": lambda: with_its_hello(frame(12)),
}

hear()
WAYS[sys.argv[1]]()
