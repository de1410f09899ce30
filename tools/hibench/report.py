"""HiBench's report, and the table of engines beside each other that is made of it."""

import re
import statistics
from dataclasses import dataclass, field

HEADER = ("Type", "Date", "Time", "Input_data_size", "Duration(s)", "Throughput(bytes/s)", "Throughput/node")
COLUMNS = "%-28s %-10s %-8s %-20s %-20s %-20s %-20s"
LINE = re.compile(r"(\S+)\s+(\d{4}-\d\d-\d\d)\s+(\d\d:\d\d:\d\d)\s+(\d*)\s+(\d*\.?\d+)\s+(\d+)\s+(\d+)\s*")
MEBIBYTE = 1 << 20


class BadReport(Exception):
    """A hibench.report that does not have the lines that were expected."""


@dataclass
class Run:
    """One run of a workload on an engine: what HiBench reports of it, and what was measured beside that."""
    workload: str
    engine: str
    turn: int
    line: str
    seconds: float
    input_bytes: int
    # Of spark-submit alone: HiBench's duration may have other commands in it.
    spark_seconds: float = 0.0
    cpu_seconds: float = 0.0
    events: dict = field(default_factory=dict)
    outcome: str = ""
    difference: str = None


def lines(text):
    """The report's lines behind its header."""
    return [line for line in text.splitlines() if line.strip() and not line.split()[0] == HEADER[0]]


def parse(line):
    """Type, bytes of input and seconds of a line."""
    found = LINE.fullmatch(line)
    if not found:
        raise BadReport(f"this is not a line of HiBench's report: {line!r}")
    return found[1], int(found[4] or 0), float(found[5])


def make_line(name, moment, input_bytes, seconds, nodes=1):
    """A line as HiBench writes it, for programs that are not HiBench's."""
    rate = int(input_bytes / seconds) if seconds else 0
    return (COLUMNS % (name, moment.strftime("%Y-%m-%d"), moment.strftime("%H:%M:%S"), input_bytes, f"{seconds:.3f}",
                       rate, rate // nodes)).rstrip()


def median_run(runs):
    """The run whose duration is the median, the lower of the two in the middle of an even number."""
    return sorted(runs, key=lambda run: run.seconds)[(len(runs) - 1) // 2]


def of(runs, workload, engine):
    return [run for run in runs if run.workload == workload and run.engine == engine]


def median(runs, figure):
    return statistics.median(figure(run) for run in runs)


def hibench_report(runs, workloads, engines):
    """HiBench's own lines of the median runs, the engine behind each."""
    shown = [COLUMNS % HEADER + " Engine"]
    for workload in workloads:
        for engine in engines:
            measured = of(runs, workload, engine)
            if measured:
                cells = median_run(measured).line.split()
                shown.append(COLUMNS % tuple(cells[:7]) + " " + engine)
    return "\n".join(shown)


def table(runs, workloads, engines):
    """A table in Markdown: each engine's median, how many times as fast as the first engine it is, and, for modes, than
    `sluice`; then bytes and CPU relative to the first engine."""
    first, *others = engines
    has_tcp = "sluice" in others
    head = ["workload", "input MB", f"{first} s"]
    for engine in others:
        head += [f"{engine} s", f"times {first}"]
        if has_tcp and engine != "sluice":
            head.append("times sluice")
    head += [f"CPU: {first} s", *(f"{engine}" for engine in others),
             f"shuffle: {first} MB", *(f"{engine}" for engine in others), "equal"]
    rows = [row(runs, workload, first, others, has_tcp) for workload in workloads if of(runs, workload, first)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def row(runs, workload, first, others, has_tcp):
    base = of(runs, workload, first)
    seconds = median(base, lambda run: run.seconds)
    tcp = of(runs, workload, "sluice") if has_tcp else []
    cells = [f"`{workload}`", f"{base[0].input_bytes / 1e6:,.1f}", f"{seconds:.1f}"]
    for engine in others:
        mine = of(runs, workload, engine)
        if not mine:
            cells += ["failed", ""] + ([""] if has_tcp and engine != "sluice" else [])
            continue
        time = median(mine, lambda run: run.seconds)
        cells += [f"{time:.1f}", f"**{seconds / time:.2f}**"]
        if has_tcp and engine != "sluice":
            cells.append(f"{median(tcp, lambda run: run.seconds) / time:.2f}" if tcp else "")
    for figure, unit in ((lambda run: run.cpu_seconds, 1), (lambda run: run.events.get("shuffleBytes", 0), 1e6)):
        total = median(base, figure)
        cells.append(f"{total / unit:,.1f}")
        cells += [f"{median(of(runs, workload, engine), figure) / total:.2f}"
                  if total and of(runs, workload, engine) else "" for engine in others]
    measured = [run for engine in (first, *others) for run in of(runs, workload, engine)]
    cells.append("**no**" if any(run.difference for run in measured) else "yes")
    return cells
