"""Compresses files of ../extra with Zstandard, in every form of a frame. Needs zstandard 0.25."""
import pathlib

import zstandard

HERE = pathlib.Path(__file__).parent
EXTRA = HERE.parent / "extra"


def write(name, *frames):
    (HERE / name).write_bytes(b"".join(frames))


def frame(data, **options):
    return zstandard.ZstdCompressor(**options).compress(data)


lines = (EXTRA / "own.jsonl").read_bytes()
# A frame that states its size; a frame without its size, in pieces, with a checksum; and two frames with a skippable frame between them.
write("own.jsonl.zst", frame(lines, level=19))
stream = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=False).compressobj()
write("stream.jsonl.zst", b"".join(stream.compress(lines[i : i + 1000]) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for i in range(0, len(lines), 1000)), stream.flush())
half = lines.index(b"\n", len(lines) // 2) + 1
write("frames.jsonl.zst", frame(lines[:half]), b"\x53\x2a\x4d\x18\x05\x00\x00\x00hello", frame(lines[half:], write_checksum=True))
write("whole.hdf5.zst", frame((EXTRA / "d4rl" / "whole.hdf5").read_bytes()))
write("plain.parquet.zst", frame((EXTRA / "plain.parquet").read_bytes()))
# The content is 64 MiB of zeros, and the window has 1 GiB.
write("bomb.zst", frame(bytes(2**26)))
window = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=30)).compressobj()
write("window.jsonl.zst", window.compress(lines), window.flush())
