"""tools/large-event-log: that what it repeats is one application."""

import importlib.machinery
import importlib.util
import io
import json
import sys
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1] / "large-event-log"


def load():
    # No .pyc beside a program.
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("large_event_log", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("large_event_log", loader))
    loader.exec_module(module)
    return module


tool = load()
SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"
LOG = [
    {"Event": "SparkListenerLogStart", "Spark Version": "4.2.0"},
    {"Event": "SparkListenerExecutorAdded", "Timestamp": 5, "Executor ID": "1"},
    {"Event": SQL, "executionId": 3, "sparkPlanInfo": {"metrics": [{"accumulatorId": 7}]}, "time": 1000},
    {"Event": "SparkListenerJobStart", "Job ID": 0, "Stage IDs": [4, 5], "Submission Time": 1010,
     "Properties": {"spark.sql.execution.id": "3"},
     "Stage Infos": [{"Stage ID": 4, "Parent IDs": [2], "RDD Info": [{"RDD ID": 9, "Parent IDs": [8]}]}]},
    {"Event": "SparkListenerTaskEnd", "Stage ID": 4, "Task Info": {"Task ID": 0, "Launch Time": 1020,
     "Getting Result Time": 0, "Accumulables": [{"ID": 7, "Name": "x", "Update": "12"}]}, "Task Metrics": {"x": 77}},
    {"Event": "SparkListenerApplicationEnd", "Timestamp": 2000},
]


def made(size):
    out = io.BytesIO()
    repetitions = tool.write([json.dumps(event, separators=(",", ":")) + "\n" for event in LOG], size, out)
    return repetitions, [json.loads(line) for line in out.getvalue().splitlines()]


class LargeEventLogTest(unittest.TestCase):
    def test_a_log_that_is_large_enough_is_as_it_was(self):
        self.assertEqual((1, LOG), made(0))

    def test_repetitions_have_numbers_and_times_of_their_own(self):
        repetitions, events = made(2000)
        self.assertGreater(repetitions, 2)
        self.assertEqual(2 + 3 * repetitions + 1, len(events))
        query, job, task = events[5:8]
        self.assertEqual(7, query["executionId"])
        self.assertEqual(15, query["sparkPlanInfo"]["metrics"][0]["accumulatorId"])
        self.assertEqual("7", job["Properties"]["spark.sql.execution.id"])
        self.assertEqual([10, 11], job["Stage IDs"])
        self.assertEqual({"Stage ID": 10, "Parent IDs": [8], "RDD Info": [{"RDD ID": 19, "Parent IDs": [18]}]},
                         job["Stage Infos"][0])
        self.assertEqual({"Task ID": 1, "Launch Time": 2040, "Getting Result Time": 0,
                          "Accumulables": [{"ID": 15, "Name": "x", "Update": "12"}]}, task["Task Info"])
        self.assertEqual({"x": 77}, task["Task Metrics"])
        self.assertEqual(2000 + (repetitions - 1) * 1020, events[-1]["Timestamp"])

    def test_what_is_no_log_is_refused(self):
        for lines in ([], ["x\n"], ['{"Event":"SparkListenerLogStart"}\n']):
            with self.assertRaises(tool.Fault):
                tool.write(lines, 10, io.BytesIO())


if __name__ == "__main__":
    unittest.main()
