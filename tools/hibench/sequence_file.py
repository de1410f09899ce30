"""Reads Hadoop's SequenceFiles of version 6 whose values are text or bytes: uncompressed, or with the deflate codec per
record or per block. The layout is that of the documentation of org.apache.hadoop.io.SequenceFile."""

import struct
import zlib

SYNC_BYTES = 16
SYNC_ESCAPE = -1
NULL_WRITABLE = "org.apache.hadoop.io.NullWritable"
TEXT = "org.apache.hadoop.io.Text"
BYTES_WRITABLE = "org.apache.hadoop.io.BytesWritable"
DEFLATE = ("org.apache.hadoop.io.compress.DefaultCodec", "org.apache.hadoop.io.compress.DeflateCodec")


class BadSequenceFile(Exception):
    """A file that is not a SequenceFile, is cut, or is of a kind that is not read here."""


class Bytes:
    """A position in bytes, from which fields are taken."""

    def __init__(self, data, name):
        self.data, self.name, self.at = data, name, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, count):
        if count < 0 or count > self.left():
            raise BadSequenceFile(f"{self.name} ends or is damaged at byte {self.at}: {count} bytes are to follow")
        self.at += count
        return self.data[self.at - count:self.at]

    def int32(self):
        return struct.unpack(">i", self.take(4))[0]

    def vlong(self):
        """A number as WritableUtils.writeVLong writes it."""
        first, = struct.unpack("b", self.take(1))
        if first >= -112:
            return first
        count = -112 - first if first >= -120 else -120 - first
        value = int.from_bytes(self.take(count), "big")
        return value if first >= -120 else ~value

    def text(self):
        return self.take(self.vlong())


def values(path):
    """The values of the file at `path`, as bytes, in its order.

    Raises BadSequenceFile, also when the file ends within a record.
    """
    with open(path, "rb") as file:
        source = Bytes(file.read(), path)
    if source.take(4) != b"SEQ\x06":
        raise BadSequenceFile(f"{path} is not a SequenceFile of version 6")
    source.text()
    kind = source.text().decode()
    compressed, by_block = source.take(2)
    unpack = decompressor(source.text().decode(), path) if compressed else bytes
    for _ in range(2 * source.int32()):
        source.text()
    sync = source.take(SYNC_BYTES)
    take = value_reader(kind, path)
    if by_block:
        return block_values(source, sync, unpack, take)
    return record_values(source, sync, unpack, take)


def decompressor(codec, path):
    if codec not in DEFLATE:
        raise BadSequenceFile(f"{path} is compressed with {codec}, which is not read here")
    return zlib.decompress


def value_reader(kind, path):
    """Takes one value of the class `kind` from a Bytes."""
    if kind == TEXT:
        return Bytes.text
    if kind == BYTES_WRITABLE:
        return lambda source: source.take(source.int32())
    if kind == NULL_WRITABLE:
        return lambda source: b""
    raise BadSequenceFile(f"{path} has values of {kind}, which are not read here")


def check_sync(source, sync):
    if source.take(SYNC_BYTES) != sync:
        raise BadSequenceFile(f"{source.name} is damaged before byte {source.at}: its sync marker is not there")


def record_values(source, sync, unpack, take):
    while source.left():
        length = source.int32()
        if length == SYNC_ESCAPE:
            check_sync(source, sync)
            continue
        key = source.int32()
        source.take(key)
        yield take(Bytes(unpack(source.take(length - key)), source.name))


def block_values(source, sync, unpack, take):
    while source.left():
        if source.int32() != SYNC_ESCAPE:
            raise BadSequenceFile(f"{source.name} is damaged before byte {source.at}: no block begins there")
        check_sync(source, sync)
        count = source.vlong()
        for _ in range(3):
            source.take(source.vlong())
        block = Bytes(unpack(source.take(source.vlong())), source.name)
        for _ in range(count):
            yield take(block)
