"""What a run has left, in a form in which two runs can be compared: a digest of what must be equal byte by byte, and
the numbers that may differ in their last digits, because sums of doubles depend on the order in which blocks arrive."""

import hashlib
import math
import operator
import re
from dataclasses import dataclass, field
from pathlib import Path

import sequence_file
from processes import output_of

RELATIVE_TOLERANCE = 1e-9
DIGEST_BYTES = 16
TERA_RECORD, TERA_KEY = 100, 10


class NoOutcome(Exception):
    """A run that left nothing to compare, or something that is wrong in itself."""


@dataclass(frozen=True)
class Outcome:
    """records: how many there are; digest: of what is compared byte by byte, or nothing; numbers: by what they are of,
    equal if they differ by no more than the part `tolerance`."""
    records: int
    digest: str = ""
    numbers: dict = field(default_factory=dict)
    tolerance: float = RELATIVE_TOLERANCE

    def summary(self):
        shown = f"{self.records:,} records"
        if self.digest:
            shown += f", {self.digest}"
        if 0 < len(self.numbers) <= 3:
            shown += "".join(f", {name} {', '.join(map(repr, values))}" for name, values in self.numbers.items())
        return shown


def difference(reference, other):
    """In what `other` differs from `reference`, in words; None if they are equal."""
    if reference.records != other.records:
        return f"{other.records:,} records, and {reference.records:,} in the first run"
    if reference.digest != other.digest:
        return f"records differ: digest {other.digest}, and {reference.digest} in the first run"
    if reference.numbers.keys() != other.numbers.keys():
        missing = len(reference.numbers.keys() - other.numbers.keys())
        return f"{missing:,} of {len(reference.numbers):,} keys are not there"
    for name, values in reference.numbers.items():
        found = other.numbers[name]
        if len(values) != len(found) or not all(
                math.isclose(a, b, rel_tol=reference.tolerance) for a, b in zip(values, found)):
            return f"{name}: {found}, and {values} in the first run"
    return None


# --- Files ---------------------------------------------------------------------------------------------------------


def part_files(folder):
    """The files of an output in the order of their names, without checksums and marks of success."""
    found = sorted(path for path in Path(folder).glob("*") if path.is_file() and path.name[0] not in "._")
    if not found:
        raise NoOutcome(f"{folder} has no files")
    return found


def sequence_records(folder):
    for path in part_files(folder):
        yield from sequence_file.values(path)


def text_records(folder):
    for path in part_files(folder):
        with open(path, "rb") as lines:
            for line in lines:
                yield line.rstrip(b"\n")


# --- Digests -------------------------------------------------------------------------------------------------------


def in_order(records):
    """Of records whose order is part of the result."""
    digest, count = hashlib.blake2b(digest_size=DIGEST_BYTES), 0
    for record in records:
        # The length keeps apart records that are cut at other places.
        digest.update(b"%d:" % len(record) + record)
        count += 1
    return some(Outcome(count, digest.hexdigest()))


def in_any_order(records):
    """Of records whose order is not part of the result: the sum of their hashes."""
    total, count = 0, 0
    for record in records:
        total += int.from_bytes(hashlib.blake2b(record, digest_size=DIGEST_BYTES).digest(), "big")
        count += 1
    return some(Outcome(count, f"{total % (1 << 8 * DIGEST_BYTES):032x}"))


def some(outcome):
    if not outcome.records:
        raise NoOutcome("the output has no records")
    return outcome


def tera_records(folder):
    """Of TeraSort's output: records of 100 bytes, which must be in order of their first 10 bytes through all files."""
    digest, count, last = hashlib.blake2b(digest_size=DIGEST_BYTES), 0, b""
    for path in part_files(folder):
        with open(path, "rb") as file:
            while block := file.read(TERA_RECORD * 100_000):
                if len(block) % TERA_RECORD:
                    raise NoOutcome(f"{path} does not consist of records of {TERA_RECORD} bytes")
                keys = [last, *(block[at:at + TERA_KEY] for at in range(0, len(block), TERA_RECORD))]
                if not all(map(operator.le, keys, keys[1:])):
                    raise NoOutcome(f"{path} is not in order of its keys")
                digest.update(block)
                count, last = count + len(block) // TERA_RECORD, keys[-1]
    return some(Outcome(count, digest.hexdigest()))


def keyed_numbers(records, separator, falling=False):
    """Of rows of a text and numbers behind it. With `falling`, the last number must not grow from row to row."""
    numbers, count, last = {}, 0, math.inf
    for record in records:
        try:
            name, *values = record.decode().strip("()").split(separator)
            values = [float(value) for value in values]
        except ValueError:
            raise NoOutcome(f"{record!r} is not a text with numbers behind it") from None
        if falling and values[-1] > last:
            raise NoOutcome(f"{record!r} comes after a row with {last}, and is larger")
        numbers[name], count, last = values, count + 1, values[-1] if values else last
    if len(numbers) != count:
        raise NoOutcome(f"{count:,} rows have only {len(numbers):,} keys")
    return some(Outcome(count, numbers=numbers))


def printed(log, patterns, tolerance=RELATIVE_TOLERANCE):
    """Of numbers that the run with this log has printed: `patterns` by name, each with one group, whose last match
    counts."""
    text, numbers = output_of(log).read_text(encoding="utf-8", errors="replace"), {}
    for name, pattern in patterns.items():
        found = re.findall(pattern, text, re.MULTILINE)
        if not found:
            raise NoOutcome(f"{log} does not tell the {name}")
        numbers[name] = [float(found[-1].rstrip("."))]
    return Outcome(len(numbers), numbers=numbers, tolerance=tolerance)
