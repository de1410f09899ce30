"""What Spark's event log says of an application's shuffles, and what Sluice's events in it say of who did them."""

import json
from pathlib import Path

OURS = "io.sluice.spark.events."
SPARKS = "SPARK"


class BadLog(Exception):
    """An event log that is not there, or not of one application that ended."""


def read(folder):
    """Sums over the one application whose log is in `folder`.

    A dict of bytes and nanoseconds: shuffleBytes (written), remoteBytes (read over the network by Spark's count),
    cpuNanos and runMillis of tasks; as Sluice's events tell, oneSidedBytes (read one-sidedly), and how many
    sluiceShuffles there were, and sparkShuffles by their reasons.
    Raises BadLog.
    """
    logs = [path for path in Path(folder).iterdir() if path.is_file() and not path.name.startswith(".")]
    if len(logs) != 1:
        raise BadLog(f"{folder} has {len(logs)} event logs where one application has run")
    if logs[0].suffix == ".inprogress":
        raise BadLog(f"{logs[0]} is of an application that has not ended")
    totals = {"shuffleBytes": 0, "remoteBytes": 0, "cpuNanos": 0, "runMillis": 0, "oneSidedBytes": 0,
              "sluiceShuffles": 0, "sparkShuffles": {}}
    with open(logs[0], encoding="utf-8") as lines:
        for line in lines:
            # Most lines are of other events; reading them as JSON would take most of the time.
            if '"SparkListenerTaskEnd"' in line:
                add_task(totals, json.loads(line).get("Task Metrics") or {})
            elif OURS + "ShuffleRegistered" in line:
                add_shuffle(totals, json.loads(line))
            elif OURS + "StageSummary" in line:
                totals["oneSidedBytes"] += json.loads(line).get("figures", {}).get("read.oneSidedBytes", 0)
    return totals


def add_task(totals, metrics):
    written = metrics.get("Shuffle Write Metrics", {})
    taken = metrics.get("Shuffle Read Metrics", {})
    totals["shuffleBytes"] += written.get("Shuffle Bytes Written", 0)
    totals["remoteBytes"] += taken.get("Remote Bytes Read", 0)
    totals["cpuNanos"] += metrics.get("Executor CPU Time", 0)
    totals["runMillis"] += metrics.get("Executor Run Time", 0)


def add_shuffle(totals, event):
    if event.get("path") == SPARKS:
        reason = event.get("reason") or "unknown"
        totals["sparkShuffles"][reason] = totals["sparkShuffles"].get(reason, 0) + 1
    else:
        totals["sluiceShuffles"] += 1
