"""What tools/site says about pages that are not as they must be, and what it makes of links."""

import contextlib
import http.server
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

TOOL = Path(__file__).resolve().parents[1] / "site"


def load():
    # No .pyc beside a program.
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("sluice_site", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("sluice_site", loader))
    loader.exec_module(module)
    return module


class SiteTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.site = load()
        self.site.ROOT = self.root

    def write(self, **pages):
        files = set()
        for name, text in pages.items():
            path = name.replace("__", "/") + ".md"
            self.site.write(self.root / path, text)
            files.add(path)
        return files

    def problems(self, files):
        err = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            self.assertEqual(self.site.check(files), not err.getvalue())
        return err.getvalue()

    def test_links_and_headings_that_are_there(self):
        files = self.write(docs__a="# A\n\n[b](b.md#two-words), [up](../C.md), [x](https://example.org/y)\n",
                           docs__b="# B\n\n## Two *words*\n", C="# C\n[folder](docs), [here](#c)\n")
        self.assertEqual(self.problems(files), "")

    def test_a_link_to_nothing_and_one_to_a_heading_that_is_not_there(self):
        files = self.write(docs__a="# A\n\n[b](c.md)\n[b](b.md#three)\n", docs__b="# B\n")
        problems = self.problems(files)
        self.assertIn("docs/a.md:3: nothing is at c.md", problems)
        self.assertIn("docs/a.md:4: docs/b.md has no heading #three", problems)

    def external(self, *addresses):
        files = self.write(docs__a="# A\n\n" + "".join(f"[x]({address})\n" for address in addresses))
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = self.site.check_external(files)
        return status, out.getvalue() + err.getvalue()

    @mock.patch.dict(os.environ, {"no_proxy": "*"})
    def test_links_to_other_sites(self):
        class Answers(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200 if self.path == "/there" else 403 if self.path == "/secret" else 404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_HEAD(self):
                self.send_error(405)

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.shutdown)
            site = f"http://127.0.0.1:{server.server_port}"
            self.assertEqual(self.external(f"{site}/there#part", f"{site}/secret")[0], 0)
            status, said = self.external(f"{site}/there", f"{site}/gone")
            self.assertEqual(status, 1)
            self.assertIn(f"docs/a.md:4: {site}/gone: 404", said)
            self.assertNotIn("/there:", said)
            server.shutdown()
        self.assertEqual(self.external(f"{site}/there")[0], 77)

    def test_links_in_code_are_none(self):
        self.assertEqual(self.problems(self.write(a="# A\n`[x](y.md)`\n\n```text\n[x](y.md)\n```\n")), "")

    def test_commands_name_the_test_that_runs_them(self):
        block = "```sh\n./x\n```\n"
        files = self.write(a="# A\n<!-- tested by XTest -->\n" + block)
        self.assertIn("there is no test XTest", self.problems(files))
        self.site.write(self.root / "jvm/XTest.java", 'start("bin/x");')
        self.assertEqual(self.problems(files | {"jvm/XTest.java"}), "")
        self.assertEqual(self.problems(self.write(a="# A\n<!-- not tested: needs a card -->\n" + block)), "")
        self.assertIn("a.md:2: no comment says", self.problems(self.write(a="# A\n" + block)))
        self.assertIn("the block's language ''", self.problems(self.write(a="# A\n```\n./x\n```\n")))

    def lacking(self, commands, source):
        """What the check says of a page whose commands are marked as tested by a test with this source."""
        files = self.write(docs__a=f"# A\n<!-- tested by test_x -->\n```sh\n{commands}\n```\n")
        self.site.write(self.root / "test_x.py", source)
        return self.problems(files | {"test_x.py"})

    def test_a_test_has_the_words_of_the_commands(self):
        commands = ("export SPARK_HOME=/mine\njava -jar /a/b-<version>.jar report --out=c.html \\\n"
                    "  --conf spark.a.b=1 logs  # in a shell")
        whole = 'run(["java", "-jar", JAR, "report", "--out", "x", "--conf", "spark.a.b=2"], SPARK_HOME="/y")'
        self.assertEqual(self.lacking(commands, whole), "")
        for word in ("SPARK_HOME", "java", "-jar", "report", "--out", "--conf", "spark.a.b"):
            with self.subTest(word):
                self.assertIn(f"docs/a.md:3: test_x does not read this block, and has no {word}\n",
                              self.lacking(commands, whole.replace(word, "other")))

    def test_a_word_is_a_whole_one(self):
        self.assertIn("has no --from", self.lacking("x --from a", 'run("x", "--from-here")'))
        self.assertIn("has no spark.a\n", self.lacking("x spark.a=1", 'run("x", "other.spark.a=1")'))
        self.assertIn("has no build", self.lacking("./sluice build", 'run("sluice", "rebuild")'))

    def test_a_test_may_read_the_page(self):
        for call in ('guide.commands("docs/a.md", "test_x")', 'pages.commands("docs/a.md", "test_x")',
                     'Pages.blocks("docs/a.md",\n    "test_x", "sh")'):
            self.assertEqual(self.lacking("x --from a", call), "")
        for call in ('guide.commands("docs/b.md", "test_x")', 'guide.commands("docs/a.md", "test_y")',
                     'pages.blocks("docs/a.md", "test_x", "xml")', 'mypages.commands("docs/a.md", "test_x")'):
            self.assertIn("has no x, --from", self.lacking("x --from a", call))

    def test_the_script_is_no_test(self):
        files = self.write(docs__a="# A\n<!-- tested by ./sluice test -->\n```sh\n./sluice build\n```\n")
        self.site.write(self.root / "sluice", "sluice build")
        self.assertIn("there is no test sluice", self.problems(files | {"sluice"}))

    def test_what_is_pasted_is_read_by_its_test(self):
        page = "# A\n<!-- tested by test_x -->\n```{0}\na=b\n```\n"
        self.site.write(self.root / "test_x.py", 'pages.blocks("docs/a.md", "test_x", "xml")')
        for language in ("python", "properties", "xml", "yaml", "java", "scala", "sql"):
            with self.subTest(language):
                self.assertIn("no comment says", self.problems(self.write(docs__a=f"# A\n```{language}\na=b\n```\n")))
                problems = self.problems(self.write(docs__a=page.format(language)) | {"test_x.py"})
                self.assertEqual(problems == "", language == "xml", problems)
        os.remove(self.root / "docs/a.md")
        self.assertEqual(self.problems(self.write(docs__decisions__a="# A\n```java\na=b\n```\n")), "")

    def test_blocks_of_a_page(self):
        sys.path.insert(0, str(TOOL.parent / "lib"))
        self.addCleanup(sys.path.remove, str(TOOL.parent / "lib"))
        import pages

        text = ("# A\n<!-- tested by test_y, test_x -->\n```sh\n  a \\\n  b\n```\n"
                "<!-- tested by test_xx -->\n```sh\nc\n```\n"
                "<!-- tested by test_x -->\n```xml\n<d/>\n```\n```sh\ne\n```\n")
        self.write(docs__a=text)
        with mock.patch.object(pages, "ROOT", self.root):
            self.assertEqual(pages.commands("docs/a.md", "test_x"), ["  a \\\n  b"])
            self.assertEqual(pages.blocks("docs/a.md", "test_x", "xml"), ["<d/>"])
            with self.assertRaisesRegex(AssertionError, "docs/a.md has no block of sh that is tested by test_z"):
                pages.commands("docs/a.md", "test_z")

    def test_pages_of_the_site_link_to_what_the_site_has(self):
        files = self.write(docs__a__b="# B\n[c](../c.md#d), [code](../../jvm/X.java), [map](../../ARCHITECTURE.md)\n",
                           docs__c="# C\n", ARCHITECTURE="# Map\n") | {"jvm/X.java"}
        self.site.write(self.root / "docs/mkdocs.yml", "nav:\n  - Deploy: DEPLOYMENT\n")
        self.site.write(self.root / "docs/deployment/x.md", "# The \"X\"\n")
        self.site.build(files | {"docs/deployment/x.md"}, self.root / "out", self.root / "out.yml")
        self.assertEqual((self.root / "out/a/b.md").read_text(),
                         "# B\n[c](../c.md#d), code, [map](../project/ARCHITECTURE.md)\n")
        self.assertEqual((self.root / "out.yml").read_text(),
                         "nav:\n  - Deploy:\n      - \"The \\\"X\\\"\": deployment/x.md\n")

    def test_a_finished_site_loads_nothing_from_elsewhere(self):
        page = self.root / "html/a/b.html"
        link = '<a href="https://y">'
        self.site.write(page, f'<script src="https://example.org/iframe-worker/shim" type="x"></script>{link}')
        self.assertTrue(self.site.finish(self.root / "html", str(TOOL)))
        self.assertEqual(page.read_text(), f'<script src="../assets/iframe-worker.js" type="x"></script>{link}')
        self.site.write(page, '<img alt="" src="https://example.org/x.png">')
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertFalse(self.site.finish(self.root / "html", None))


if __name__ == "__main__":
    unittest.main()
