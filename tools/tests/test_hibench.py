"""./sluice hibench: what it takes, reads and compares, and that nothing is left of a program that it ends."""

import contextlib
import datetime
import io
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile
import zlib
from pathlib import Path
from unittest import mock

PROGRAM = Path(__file__).resolve().parents[1] / "hibench"
sys.dont_write_bytecode = True
sys.path.insert(0, str(PROGRAM))
# pylint: disable=wrong-import-position
import checkout  # noqa: E402
import engines  # noqa: E402
import events  # noqa: E402
import hibench  # noqa: E402
import hibench_suite  # noqa: E402
import maven  # noqa: E402
import other_suites  # noqa: E402
import outcomes  # noqa: E402
import place  # noqa: E402
import processes  # noqa: E402
import report  # noqa: E402
import sequence_file  # noqa: E402
from processes import Failure  # noqa: E402

SYNC = bytes(range(16))
CONF = """\
hibench.sort.small.datasize\t3200000
hibench.sort.large.datasize\t320000000
hibench.workload.datasize\t${hibench.sort.${hibench.scale.profile}.datasize}
"""


def vlong(value):
    """As Hadoop's WritableUtils.writeVLong, for numbers from 0 on."""
    if value <= 127:
        return bytes([value])
    raw = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return struct.pack("b", -112 - len(raw)) + raw


def text(value):
    return vlong(len(value)) + value


def header(kind, compressed=False, blocks=False, codec="org.apache.hadoop.io.compress.DefaultCodec"):
    made = b"SEQ\x06" + text(sequence_file.NULL_WRITABLE.encode()) + text(kind.encode()) + bytes([compressed, blocks])
    return made + (text(codec.encode()) if compressed else b"") + struct.pack(">i", 0) + SYNC


def record(value):
    return struct.pack(">ii", len(value), 0) + value


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def hibench(self):
        """A folder with the files by which HiBench is known."""
        self.write("h/pom.xml", "<project><parent><artifactId>p</artifactId></parent><artifactId>hibench</artifactId>")
        for sign in checkout.SIGNS[checkout.HIBENCH]:
            self.write(f"h/{sign}", "x")
        for workload in hibench_suite.WORKLOADS.values():
            self.write(f"h/conf/workloads/{workload.folder}.conf", CONF)
        return self.folder / "h"


class HadoopsCacheTest(FolderTest):
    def test_urls_of_hadoops_folder_are_paths_below_the_scripts(self):
        self.write("tmp/user_agents", "some")
        here, target = self.folder / "cwd", self.folder / "tmp"
        here.mkdir()
        hibench_suite.link_urls(here, target)
        self.assertEqual((here / f"file:{target}/user_agents").read_text(), "some")
        shutil.rmtree(here)
        self.assertTrue((target / "user_agents").exists())


class SequenceFileTest(FolderTest):
    LONG = b"long " * 100

    def values(self, content):
        return list(sequence_file.values(self.write("part-0", content)))

    def test_uncompressed_records_and_a_sync_marker(self):
        marker = struct.pack(">i", -1) + SYNC
        content = header(sequence_file.TEXT) + record(text(b"one")) + marker + record(text(self.LONG))
        self.assertEqual(self.values(content), [b"one", self.LONG])

    def test_records_compressed_one_by_one(self):
        records = b"".join(record(zlib.compress(text(value))) for value in (b"", self.LONG))
        content = header(sequence_file.TEXT, True) + records
        self.assertEqual(self.values(content), [b"", self.LONG])

    def test_blocks(self):
        values = zlib.compress(text(b"a") + text(self.LONG))
        part = text(zlib.compress(b""))
        block = struct.pack(">i", -1) + SYNC + vlong(2) + part * 3 + vlong(len(values)) + values
        self.assertEqual(self.values(header(sequence_file.TEXT, True, True) + block * 2), [b"a", self.LONG] * 2)

    def test_bytes_as_values(self):
        content = header(sequence_file.BYTES_WRITABLE) + record(struct.pack(">i", 3) + b"\0\1\2")
        self.assertEqual(self.values(content), [b"\0\1\2"])

    def test_what_is_no_sequence_file_or_is_damaged(self):
        good = header(sequence_file.TEXT) + record(text(b"one"))
        for content, said in ((b"PAR1", "not a SequenceFile"), (good[:-1], "ends or is damaged"),
                              (header(sequence_file.TEXT) + struct.pack(">i", -1) + bytes(16), "sync marker"),
                              (header(sequence_file.TEXT) + struct.pack(">ii", 1 << 30, 0), "ends or is damaged"),
                              (header("org.apache.hadoop.io.LongWritable") + record(b"12345678"), "LongWritable"),
                              (header(sequence_file.TEXT, True, codec="Snappy"), "Snappy")):
            with self.subTest(said), self.assertRaisesRegex(sequence_file.BadSequenceFile, said):
                self.values(content)

    def test_numbers_of_several_bytes(self):
        for written, value in ((b"\x7f", 127), (b"\x90", -112), (b"\x8f\x80", 128), (b"\x8e\x01\x00", 256),
                               (b"\x87\x7f", -128)):
            self.assertEqual(sequence_file.Bytes(written, "x").vlong(), value)


class OutcomesTest(FolderTest):
    def test_order_counts_where_it_is_part_of_the_result(self):
        first = outcomes.in_order([b"ab", b"c"])
        self.assertIsNone(outcomes.difference(first, outcomes.in_order([b"ab", b"c"])))
        for other in ([b"c", b"ab"], [b"a", b"bc"]):
            self.assertIn("records differ", outcomes.difference(first, outcomes.in_order(other)))

    def test_order_does_not_count_elsewhere_and_repetitions_do(self):
        first = outcomes.in_any_order([b"a", b"b", b"b"])
        self.assertIsNone(outcomes.difference(first, outcomes.in_any_order([b"b", b"a", b"b"])))
        self.assertIn("records differ", outcomes.difference(first, outcomes.in_any_order([b"a", b"a", b"b"])))
        self.assertEqual(outcomes.difference(first, outcomes.in_any_order([b"a", b"b"])),
                         "2 records, and 3 in the first run")

    def test_numbers_may_differ_in_their_last_digits(self):
        first = outcomes.keyed_numbers([b"(u1,0.25)", b"(u2,1.1)"], ",")
        same = outcomes.keyed_numbers([b"(u2,1.1000000000000003)", b"(u1,0.25)"], ",")
        self.assertIsNone(outcomes.difference(first, same))
        for row, said in ((b"(u2,1.1001)", "u2"), (b"(u3,1.1)", "keys are not there")):
            self.assertIn(said, outcomes.difference(first, outcomes.keyed_numbers([b"(u1,0.25)", row], ",")))

    def test_rows_that_are_not_in_order_come_twice_or_have_no_number(self):
        rows = [b"ip1\x0112.5\x0190.0", b"ip2\x0113.5\x0180.0"]
        self.assertEqual(outcomes.keyed_numbers(rows, "\x01", falling=True).numbers,
                         {"ip1": [12.5, 90.0], "ip2": [13.5, 80.0]})
        for wrong, said in ((rows[::-1], "is larger"), (rows + rows[1:], "only 2 keys"),
                            ([b"ip\x01x"], "numbers behind")):
            with self.subTest(said), self.assertRaisesRegex(outcomes.NoOutcome, said):
                outcomes.keyed_numbers(wrong, "\x01", falling=True)

    def test_tera_records(self):
        rows = [bytes([key]) * 10 + b"v" * 90 for key in (1, 2, 3)]
        self.write("out/part-r-0", rows[0] + rows[1])
        self.write("out/part-r-1", rows[2])
        self.write("out/_SUCCESS", "")
        self.write("out/.part-r-0.crc", "crc")
        good = outcomes.tera_records(self.folder / "out")
        self.assertEqual(good.records, 3)
        self.write("one/part-r-0", b"".join(rows))
        self.assertEqual(outcomes.tera_records(self.folder / "one"), good)
        self.write("out/part-r-1", rows[0])
        with self.assertRaisesRegex(outcomes.NoOutcome, "not in order"):
            outcomes.tera_records(self.folder / "out")
        self.write("out/part-r-1", rows[2][:-1])
        with self.assertRaisesRegex(outcomes.NoOutcome, "records of 100 bytes"):
            outcomes.tera_records(self.folder / "out")

    def test_no_output_is_no_outcome(self):
        with self.assertRaisesRegex(outcomes.NoOutcome, "has no files"):
            outcomes.tera_records(self.folder)
        with self.assertRaisesRegex(outcomes.NoOutcome, "no records"):
            outcomes.in_order([])

    def test_what_programs_print(self):
        log = self.folder / "run.log"
        self.write("run.out", "numExamples = 3000000.\nTotal cost = 1.25E9.\n")
        read = hibench_suite.WORKLOADS["kmeans"].outcome(None, log)
        self.assertEqual(read.numbers, {"cost": [1.25e9], "examples": [3000000.0]})
        self.write("run.out", "Test set accuracy = 0.0333\n")
        self.assertEqual(hibench_suite.WORKLOADS["bayes"].outcome(None, log).numbers, {"accuracy": [0.0333]})
        self.write("run.out", "nothing\n")
        with self.assertRaisesRegex(outcomes.NoOutcome, "does not tell the accuracy"):
            hibench_suite.WORKLOADS["bayes"].outcome(None, log)

    def test_what_sparks_examples_print(self):
        log = self.folder / "run.log"
        self.write("run.out", "page1 has rank:  0.15 .\npage2 has rank: 1.5E-5.\n")
        self.assertEqual(other_suites.EXAMPLES["SparkPageRank"].outcome(log).numbers,
                         {"page1": [0.15], "page2": [1.5e-5]})
        self.write("run.out", "RESULT: 1000\n")
        first = other_suites.EXAMPLES["SkewedGroupByTest"].outcome(log)
        self.write("run.out", "RESULT: 1001\n")
        self.assertIsNone(outcomes.difference(first, other_suites.EXAMPLES["SkewedGroupByTest"].outcome(log)))
        self.write("run.out", "RESULT: 900\n")
        self.assertIsNotNone(outcomes.difference(first, other_suites.EXAMPLES["SkewedGroupByTest"].outcome(log)))

    def test_inputs_of_the_examples_are_the_same_in_every_call(self):
        for kind in ("links", "words"):
            self.assertEqual(list(other_suites.generated(kind, 50)), list(other_suites.generated(kind, 50)))


class TeraSortTest(FolderTest):
    def test_the_output_of_the_run_before_is_removed_first(self):
        options = mock.Mock(size="tiny", parallelism=8, spark="3.5.7-2.12")
        suite = other_suites.TeraSort(mock.Mock(**{"digest.return_value": "d"}), mock.Mock(base=self.folder), options)
        output = self.write(f"data/{suite.data.name}/Output/part-r-0", "x")
        seen = []
        with mock.patch.object(suite, "jar"), \
                mock.patch.object(suite, "submit", side_effect=lambda *_: seen.append(output.exists())), \
                mock.patch.object(suite, "line"):
            suite.run("terasort", mock.Mock(), "stock", self.folder / "log")
        self.assertEqual(seen, [False])
        self.assertEqual(suite.needed_bytes(), 40_000_000)


class CallTest(FolderTest):
    """A whole call with stand-ins for the suite and the measuring."""

    def call(self, measured, *given):
        results = str(self.folder / "results")
        options = hibench.arguments([str(self.hibench()), "--workloads", "sort", "--results", results, *given])
        with mock.patch.object(maven, "ROOT", self.folder), \
                mock.patch.object(hibench, "sluice_jar", return_value="j"), \
                mock.patch.object(engines, "with_library", side_effect=lambda names, *_: (names, None)), \
                mock.patch.object(maven, "spark_jars", return_value=(None, None)), \
                mock.patch.object(hibench_suite.HiBench, "build"), mock.patch.object(hibench, "Setup"), \
                mock.patch.object(hibench, "measure", side_effect=measured), \
                contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
            try:
                hibench.call(options)
            finally:
                self.said = said.getvalue()

    def runs(self, *_):
        return [report.Run("sort", engine, 1, report.make_line("Sort", datetime.datetime(2026, 11, 27), 10, 2), 2, 10)
                for engine in engines.DEFAULT], []

    def test_a_table_and_hibenchs_lines(self):
        self.call(self.runs)
        self.assertIn("| `sort` |", (self.folder / "results/table.md").read_text())
        self.assertIn((self.folder / "results/hibench.report").read_text(), self.said)
        self.assertEqual(list((self.folder / "build/hibench").glob("run-*")), [])

    def test_what_failed_is_told_last_and_the_rest_is_there(self):
        with self.assertRaisesRegex(Failure, r"(?s)not everything ran and was equal:.*sort on sluice, run 1: records"):
            self.call(lambda *_: (self.runs()[0], ["sort on sluice, run 1: records differ"]))
        self.assertIn("| `sort` |", self.said)

    def test_ctrl_c_removes_the_folder_of_the_call(self):
        def interrupted(*_):
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            self.call(interrupted)
        self.assertEqual(list((self.folder / "build/hibench").glob("run-*")), [])

    def test_results_of_another_call_are_not_written_over(self):
        self.write("results/results.json", "{}")
        with self.assertRaisesRegex(Failure, "has files already"):
            self.call(self.runs)

    def test_no_room(self):
        with mock.patch.object(place.shutil, "disk_usage", return_value=mock.Mock(free=1 << 20)):
            with self.assertRaisesRegex(Failure, "HiBench's workloads at small need about 12 MiB, and .* has 1 MiB"):
                self.call(self.runs)
            self.call(self.runs, "--force")


class EventsTest(FolderTest):
    def test_sums(self):
        lines = [{"Event": "SparkListenerTaskEnd", "Task Metrics": {
                     "Executor CPU Time": 5, "Executor Run Time": 7,
                     "Shuffle Write Metrics": {"Shuffle Bytes Written": 100},
                     "Shuffle Read Metrics": {"Remote Bytes Read": 40}}},
                 {"Event": "SparkListenerTaskEnd", "Task Metrics": None},
                 {"Event": events.OURS + "ShuffleRegistered", "path": "RDD_RECORDS"},
                 {"Event": events.OURS + "ShuffleRegistered", "path": "SPARK", "reason": "ORDERING"},
                 {"Event": events.OURS + "StageSummary", "figures": {"read.oneSidedBytes": 40}},
                 {"Event": "SparkListenerJobEnd"}]
        self.write("app", "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
        self.assertEqual(events.read(self.folder), {
            "shuffleBytes": 100, "remoteBytes": 40, "cpuNanos": 5, "runMillis": 7, "oneSidedBytes": 40,
            "sluiceShuffles": 1, "sparkShuffles": {"ORDERING": 1}})

    def test_no_log_two_logs_and_one_that_has_not_ended(self):
        with self.assertRaisesRegex(events.BadLog, "has 0 event logs"):
            events.read(self.folder)
        self.write("app.inprogress", "")
        with self.assertRaisesRegex(events.BadLog, "has not ended"):
            events.read(self.folder)
        self.write("other", "")
        with self.assertRaisesRegex(events.BadLog, "has 2 event logs"):
            events.read(self.folder)


class ReportTest(unittest.TestCase):
    LINE = "ScalaSparkSort 2026-11-27 16:30:01 3290464        20.450               160902               160902        "

    def run_of(self, engine, seconds, **more):
        line = report.make_line("ScalaSparkSort", datetime.datetime(2026, 11, 27), 1000, seconds)
        return report.Run("sort", engine, 1, line, seconds, 1_000_000, cpu_seconds=seconds * 2,
                          events={"shuffleBytes": more.pop("shuffle", 1_000_000)}, **more)

    def test_lines_of_hibench(self):
        self.assertEqual(report.parse(self.LINE), ("ScalaSparkSort", 3290464, 20.45))
        # bc prints no 0 in front of a fraction.
        self.assertEqual(report.parse("A 2026-11-27 16:30:01 10 .450 22 22")[2], 0.45)
        self.assertEqual(report.lines("Type Date\n" + self.LINE + "\n\n"), [self.LINE])
        with self.assertRaisesRegex(report.BadReport, "not a line"):
            report.parse("ScalaSparkSort failed")

    def test_our_lines_are_of_that_form(self):
        self.assertEqual(report.parse(self.run_of("stock", 2.5).line), ("ScalaSparkSort", 1000, 2.5))

    def test_the_table(self):
        runs = [*(self.run_of("stock", seconds) for seconds in (30, 10, 12)), self.run_of("sluice", 6, shuffle=500_000),
                self.run_of("sluice-ucx", 4, shuffle=500_000, difference="x")]
        head, _, row = report.table(runs, ["sort", "scan"], ["stock", "sluice", "sluice-ucx"]).split("\n")
        self.assertEqual(row, "| `sort` | 1.0 | 12.0 | 6.0 | **2.00** | 4.0 | **3.00** | 1.50 | 24.0 | 0.50 | 0.33 "
                              "| 1.0 | 0.50 | 0.50 | **no** |")
        self.assertEqual(head.count("|"), row.count("|"))

    def test_an_engine_without_runs_has_failed(self):
        row = report.table([self.run_of("stock", 10)], ["sort"], ["stock", "sluice"]).split("\n")[-1]
        self.assertIn("| failed |", row)

    def test_the_report_has_the_median_run_of_every_engine(self):
        runs = [self.run_of("stock", seconds) for seconds in (30, 10, 12)] + [self.run_of("sluice", 6)]
        lines = report.hibench_report(runs, ["sort"], ["stock", "sluice"]).split("\n")
        self.assertEqual([(line.split()[4], line.split()[-1]) for line in lines[1:]],
                         [("12.000", "stock"), ("6.000", "sluice")])


class CheckoutTest(FolderTest):
    def test_kinds(self):
        self.assertEqual(checkout.recognise(self.hibench()).kind, checkout.HIBENCH)
        self.write("t/pom.xml", "<project>\n<artifactId>spark-terasort</artifactId>")
        self.write("t/" + checkout.SIGNS[checkout.TERASORT][0], "x")
        self.assertEqual(checkout.recognise(self.folder / "t").kind, checkout.TERASORT)
        self.write("s/jars/spark-core_2.12-3.5.7.jar", "")
        with self.assertRaisesRegex(Failure, "no examples/jars"):
            checkout.recognise(self.folder / "s")
        self.write("s/examples/jars/spark-examples_2.12-3.5.7.jar", "")
        self.assertEqual(checkout.recognise(self.folder / "s").kind, checkout.SPARK)
        jars = self.folder / "s/jars"
        self.assertEqual((place.scala_version(jars), place.spark_version(jars)), ("2.12", "3.5.7"))

    def test_what_is_no_checkout(self):
        self.write("other/pom.xml", "<project><artifactId>something</artifactId></project>")
        self.hibench()
        (self.folder / "h/conf/hibench.conf").unlink()
        for name, said in (("nothing", "is not a folder"), ("", "it has no pom.xml"),
                           ("other", "its pom.xml is of 'something'"),
                           ("h", "without conf/hibench.conf: is it complete")):
            with self.subTest(said), self.assertRaisesRegex(Failure, said):
                checkout.recognise(self.folder / name)

    def test_the_copy_has_the_sources_only_and_scripts_can_run(self):
        folder = self.hibench()
        self.write("h/.git/HEAD", "x")
        self.write("h/common/target/x.jar", "x")
        script = self.write("h/bin/run.sh", "x")
        script.chmod(0o644)
        before = sorted(path for path in folder.rglob("*"))
        found = checkout.recognise(folder)
        digest = found.digest()
        found.copy(self.folder / "copy")
        self.assertEqual(before, sorted(path for path in folder.rglob("*")))
        self.assertTrue(os.access(self.folder / "copy/bin/run.sh", os.X_OK))
        self.assertFalse((self.folder / "copy/.git").exists() or (self.folder / "copy/common").exists())
        self.assertEqual(found.digest(), digest)
        script.write_text("y")
        self.assertNotEqual(found.digest(), digest)


class OptionsTest(FolderTest):
    def check(self, *given):
        return hibench.checked(hibench.arguments([str(self.hibench()), *given]))

    def test_all_workloads_and_three_engines_unless_others_are_named(self):
        _, suite = self.check()
        self.assertIs(suite, hibench_suite.HiBench)
        options = hibench.arguments([str(self.hibench()), "--workloads", "sort,scan,sort", "--engines", "stock,sluice"])
        hibench.checked(options)
        self.assertEqual((options.workloads, options.engines), (["sort", "scan"], ["stock", "sluice"]))

    def test_bad_input(self):
        for given, said in ((("--workloads", "sort,als"), "has no workload 'als' here; there are sort"),
                            (("--engines", "stock,celeborn"), "unknown engine 'celeborn'"),
                            (("--engines", "sluice,stock"), "the first engine must be stock"),
                            (("--engines", "stock,sluice,sluice"), "named twice"),
                            (("--master", "yarn"), "local-cluster"),
                            (("--spark", "4.2.0-2.13"), "HiBench runs on Spark 3.3 to 3.5"),
                            (("--conf", "master=local"), "--conf takes spark"),
                            (("--conf", "spark.x"), "--conf takes spark")):
            with self.subTest(given), self.assertRaisesRegex(Failure, said):
                self.check(*given)
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
            hibench.arguments(["x", "--runs", "0"])
        self.assertIn("not a number from 1 on", said.getvalue())

    def suite(self, *given):
        options = hibench.arguments([str(self.hibench()), *given])
        source, suite = hibench.checked(options)
        here = mock.Mock(base=self.folder / "base", run=self.folder / "run")
        return suite(source, here, options)

    def test_sizes_are_those_of_the_checkouts_conf(self):
        self.suite("--workloads", "sort").check()
        with self.assertRaisesRegex(Failure, "no size 'enormous' for sort; sizes are small, large"):
            self.suite("--size", "enormous").check()
        with self.assertRaisesRegex(Failure, "Scala 2.12"):
            self.suite("--spark", "3.5.7-2.13").check()

    def test_room_for_data_is_asked_for_before_anything_is_built(self):
        suite = self.suite("--size", "large", "--workloads", "sort")
        self.assertEqual(suite.needed_bytes(), 4 * 320_000_000)
        with self.assertRaisesRegex(Failure, r"HiBench's data need about 1,220 MiB, and .* has 1,000 MiB"):
            place.check_space("HiBench's data", suite.needed_bytes(), self.folder, 1_000 << 20)
        suite.stamp("sort").parent.mkdir(parents=True)
        suite.stamp("sort").touch()
        self.assertEqual(suite.needed_bytes(), 0)

    def test_engines_need_the_library_that_the_jar_has(self):
        jar = self.folder / "sluice.jar"
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr("x", "")
        names, note = engines.with_library(["stock", "sluice", "sluice-ucx"], jar, False)
        self.assertEqual(names, ["stock", "sluice"])
        self.assertIn("without sluice-ucx", note)
        with self.assertRaisesRegex(Failure, "sluice-rdma need UCX"):
            engines.with_library(["stock", "sluice-rdma"], jar, True)
        with zipfile.ZipFile(jar, "a") as archive:
            archive.writestr(f"io/sluice/native/linux-{os.uname().machine}/ucx/libucp.so.0", "")
        self.assertEqual(engines.with_library(["stock", "sluice-ucx"], jar, True), (["stock", "sluice-ucx"], None))

    def test_settings_of_engines(self):
        self.assertEqual(engines.settings("stock", "s.jar", {"spark.x": "1"}), {"spark.x": "1"})
        made = engines.settings("sluice-ucx", "s.jar", {"spark.sluice.mode": "RDMA"})
        self.assertEqual(made["spark.executor.extraClassPath"], "s.jar")
        self.assertEqual(made["spark.sluice.mode"], "RDMA")


class PlaceTest(FolderTest):
    def test_one_call_at_a_time_and_what_a_killed_one_left(self):
        left = self.write("base/run-1/x", "")
        first = place.Place(self.folder / "base")
        self.assertFalse(left.exists())
        with self.assertRaisesRegex(Failure, "another ./sluice hibench"):
            place.Place(self.folder / "base")
        run = first.run
        first.close()
        self.assertFalse(run.exists())
        place.Place(self.folder / "base").close()

    def test_no_spaces_in_the_path(self):
        with self.assertRaisesRegex(Failure, "with spaces"):
            place.Place(self.folder / "my folder")

    def test_nothing_of_the_callers_variables_reaches_hibench(self):
        self.write("spark/jars/spark-core_2.12-3.5.7.jar", "")
        here = place.Place(self.folder / "base")
        self.addCleanup(here.close)
        with mock.patch.dict(os.environ, {"HADOOP_HOME": "/mine", "NUM_MAPS": "1"}):
            made = here.environment(self.folder / "spark/jars", None)
        self.assertFalse({"HADOOP_HOME", "NUM_MAPS"} & made.keys())
        self.assertTrue(made["PATH"].startswith(str(PROGRAM / "bin")))
        self.assertTrue(os.access(Path(made["SPARK_HOME"]) / "bin/spark-submit", os.X_OK))


class ProcessesTest(FolderTest):
    # A shell that ignores SIGTERM, with a child that does, too, and writes its number.
    STUBBORN = "trap '' TERM; (trap '' TERM; echo $BASHPID; while :; do sleep 0.05; done)"

    def assert_gone(self, pid):
        """It has ended; that it did may still be told to whoever is its parent now."""
        end = time.monotonic() + 30
        while True:
            try:
                state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
            except (FileNotFoundError, ProcessLookupError):
                return
            if state in "ZX":
                return
            self.assertLess(time.monotonic(), end, f"process {pid} is in state {state}")
            time.sleep(0.02)

    def test_output_and_status(self):
        log = self.folder / "run.log"
        self.assertEqual(processes.run(["sh", "-c", "echo said; echo wrong >&2; exit 3"], log, 20), 3)
        self.assertEqual((log.read_text(), processes.output_of(log).read_text()), ("wrong\n", "said\n"))

    def test_what_takes_too_long_is_ended_with_its_children(self):
        log = self.folder / "run.log"
        with mock.patch.object(processes, "TERMINATE_SECONDS", 0.2), \
                self.assertRaisesRegex(Failure, "bash was ended after 5 s"):
            processes.run(["bash", "-c", self.STUBBORN], log, 5)
        self.assert_gone(int(processes.output_of(log).read_text()))

    def test_what_a_command_leaves_behind_is_ended(self):
        log = self.folder / "run.log"
        self.assertEqual(processes.run(["bash", "-c", "sleep 600 & echo $!"], log, 20), 0)
        self.assert_gone(int(processes.output_of(log).read_text()))

    def test_a_signal_leaves_no_process(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                log = self.folder / f"{number}.log"
                code = (f"import sys; sys.path.insert(0, {str(PROGRAM)!r})\n"
                        "import processes; from pathlib import Path\n"
                        f"processes.stop_on_termination()\n"
                        f"try:\n processes.run(['bash', '-c', 'echo $$; sleep 600'], Path({str(log)!r}), 600)\n"
                        f"except KeyboardInterrupt:\n sys.exit(7)\n")
                program = subprocess.Popen([sys.executable, "-B", "-c", code])
                self.addCleanup(program.kill)
                output, end = processes.output_of(log), time.monotonic() + 30
                while not (output.exists() and output.read_text().endswith("\n")) and time.monotonic() < end:
                    time.sleep(0.02)
                program.send_signal(number)
                self.assertEqual(program.wait(30), 7)
                self.assert_gone(int(output.read_text()))


class ProgramsTest(FolderTest):
    """The stand-ins for hadoop, python2 and spark-submit, with a Java that writes what it is called with."""

    def setUp(self):
        super().setUp()
        self.java("printf '%s\\n' \"$@\"")
        self.environment = {**os.environ, "JAVA_HOME": str(self.folder), "SPARK_HOME": "/s",
                            "SLUICE_HIBENCH_SPARK": "/s", "SLUICE_HIBENCH_TOOLS": "/t", "SLUICE_HIBENCH_TMP": "/tmp",
                            "SLUICE_HIBENCH_TIMES": str(self.folder / "times.json")}

    def java(self, body):
        self.write("bin/java", f"#!/usr/bin/env bash\n{body}\n").chmod(0o755)

    def call(self, name, *given):
        return subprocess.run([PROGRAM / "bin" / name, *given], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)

    def test_hadoop(self):
        said = self.call("hadoop", "--config", "/c", "fs", "-du", "-s", "file:/x").stdout.split("\n")
        self.assertEqual(said[-6:], ["/c:/s/jars/*", "org.apache.hadoop.fs.FsShell", "-du", "-s", "file:/x", ""])
        self.assertIn("org.apache.hadoop.util.RunJar", self.call("hadoop", "jar", "x.jar").stdout)
        failed = self.call("hadoop", "namenode")
        self.assertEqual((failed.returncode, failed.stdout), (2, ""))
        self.assertIn("not 'namenode'", failed.stderr)

    def test_python2_runs_scripts_by_jython_and_no_monitor(self):
        said = self.call("python2", "/h/bin/functions/load_config.py", "conf").stdout.split("\n")
        self.assertEqual(said[-4:], ["-B", "/h/bin/functions/load_config.py", "conf", ""])
        monitor = int(self.call("python2", "/h/bin/functions/monitor.py", "x").stdout)
        os.kill(monitor, signal.SIGTERM)

    def test_spark_submit_measures_all_processes_and_hands_on_the_status(self):
        # The launcher's answer, then the driver, which leaves an executor that burns CPU and ends after it.
        self.java('if [[ $* == *launcher.Main* ]]; then printf "said\\n\\0\\n%s\\0driver\\0" "$0"; exit; fi\n'
                  '(timeout 10 bash -c "while :; do :; done") &\nexit 4')
        self.assertEqual(self.call("spark-submit", "x.jar").returncode, 4)
        times = json.loads((self.folder / "times.json").read_text())
        self.assertEqual(times["status"], 4)
        self.assertGreater(times["cpuSeconds"], 0.05)
        self.assertLess(times["seconds"], 8)

    def test_spark_submit_ends_an_executor_that_does_not_end(self):
        # It writes its number, and hears neither the driver's end nor SIGTERM.
        self.java('if [[ $* == *launcher.Main* ]]; then printf "\\0\\n%s\\0driver\\0" "$0"; exit; fi\n'
                  '(trap "" TERM; echo $BASHPID; exec >&- 2>&-; while :; do sleep 0.1; done) &')
        script = (PROGRAM / "bin" / "spark-submit").read_text(encoding="utf-8")
        self.assertIn("LEFT_BEHIND_SECONDS = 30", script)
        impatient = self.write("spark-submit", script.replace("LEFT_BEHIND_SECONDS = 30", "LEFT_BEHIND_SECONDS = 0.2"))
        said = subprocess.run([sys.executable, impatient, "x.jar"], env=self.environment, stdout=subprocess.PIPE,
                              timeout=60, check=True)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(said.stdout), 0)

    def test_spark_submit_says_that_the_launcher_failed(self):
        self.java("echo no class >&2; exit 1")
        failed = self.call("spark-submit", "x.jar")
        self.assertEqual(failed.returncode, 1)
        self.assertIn("launcher made no command (status 1)", failed.stderr)


class MavenTest(FolderTest):
    def test_a_failed_build_shows_mavens_errors(self):
        self.write("mvn", "#!/bin/sh\necho '[ERROR] Could not resolve x'\nexit 1\n").chmod(0o755)
        with mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}"}), \
                self.assertRaisesRegex(Failure, r"(?s)its output is in .*build\.out\n  Could not resolve x"):
            maven.maven(["package"], self.folder / "build.log", self.folder)

    def test_sources_that_do_not_compile_are_left_out_of_the_copy(self):
        sources = [self.write(name, "x") for name in (*maven.OF_OLDER_SPARK, maven.OF_OLDER_SPARK[0] + ".other")]
        with mock.patch.object(maven, "maven") as called:
            maven.build_hibench(self.folder, "3.5.7-2.12", self.folder / "log")
        self.assertEqual([source.exists() for source in sources], [False, False, True])
        self.assertIn("-Dspark.version=3.5.7", called.call_args.args[0])
        self.assertIn("-Dscala=2.12", called.call_args.args[0])

    def test_no_maven(self):
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}), self.assertRaisesRegex(Failure, "no Maven found"):
            maven.maven(["package"], self.folder / "build.log", self.folder)


class NothingOfHiBenchIsHere(unittest.TestCase):
    def test_no_file_has_its_licence_header_or_package(self):
        for path in PROGRAM.rglob("*"):
            if path.is_file():
                content = path.read_text(encoding="utf-8")
                self.assertNotIn("Licensed to the Apache Software Foundation", content, path)
                self.assertNotIn("com.intel.hibench", content, path)


if __name__ == "__main__":
    unittest.main()
