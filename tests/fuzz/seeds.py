"""Writes the frames that the protocol's document shows into a folder, one file each and one of all."""

import pathlib
import re
import sys

document = pathlib.Path(__file__).parents[2] / "core/src/cluster/wire/PROTOCOL.md"
folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
shown = re.findall(r"\b[0-9a-f]{8} [0-9a-f]{2}(?:\s+(?:[0-9a-f]{2})+\b)*", document.read_text())
frames = [bytes.fromhex(frame) for frame in dict.fromkeys(shown)]
frames = [frame for frame in frames if len(frame) == 4 + int.from_bytes(frame[:4], "little")]
assert len(frames) >= 18, f"only {len(frames)} of the document's frames were found"
for number, frame in enumerate([*frames, b"".join(frames)]):
    # Before the stream: the limit, and the pieces.
    (folder / f"{number}").write_bytes(bytes([number % 2, 7]) + frame)
print(f"{len(frames)} frames")
