"""What tools/release says about a release that is not as it must be."""

import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

TOOL = Path(__file__).resolve().parents[1] / "release"


def load():
    # No .pyc beside a program.
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("release", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
    loader.exec_module(module)
    return module


release = load()


class ReleaseTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def test_versions_of_this_checkout_agree(self):
        self.assertGreater(len(release.versions(release.ROOT)), 10)
        self.assertEqual(release.version_problems(release.ROOT), [])

    def test_a_version_that_differs_is_named(self):
        self.write("jvm/pom.xml", "<project>\n  <version>1.1</version>\n")
        self.write("jvm/spark/pom.xml", "<parent>\n    <version>1.1</version>\n")
        self.write("jvm/dist/pom.xml", "<parent>\n    <version>1.0</version>\n")
        self.write("native/Cargo.toml", 'version = "1.0"\n')
        self.write("python/src/sluice_spark/_version.py", '__version__ = "1.1"\n')
        self.assertEqual(release.version_problems(self.folder),
                         ["jvm/dist/pom.xml has version 1.0, and jvm/pom.xml 1.1",
                          "native/Cargo.toml has version 1.0, and jvm/pom.xml 1.1"])

    def test_pages_images_and_manifests_name_files_of_this_version(self):
        version = release.versions(release.ROOT)["jvm/pom.xml"]
        self.assertEqual(release.page_problems(release.ROOT, version), [])
        found = release.page_problems(release.ROOT, "9.9.9")
        for file in ("README.md", "docs/start.md", "docs/deployment/images/Dockerfile.ubuntu",
                     "docs/deployment/kubernetes/spark-application.yaml", "docs/deployment/python.md"):
            self.assertTrue([problem for problem in found if problem.startswith(f"{file}:")], file)

    def test_a_page_that_names_another_version_is_named(self):
        self.write("README.md", "build/sluice-1.1.jar\nsluice_spark-1.0-py3-none-any.whl\n")
        self.write("docs/start.md", "--packages io.sluice:sluice:1.1.1\nsluice-<version>.jar, comet-spark-0.12.0.jar")
        self.write("docs/deployment/images/Dockerfile.a", "ARG SLUICE_JAR=sluice-1.1-SNAPSHOT.jar\nsluice-1.1.jar\n")
        self.write("CHANGELOG.md", "sluice-1.0.jar")
        self.assertEqual(release.page_problems(self.folder, "1.1"), [
            "README.md:2 names sluice_spark-1.0, and the version is 1.1",
            "docs/deployment/images/Dockerfile.a:1 names sluice-1.1-SNAPSHOT, and the version is 1.1",
            "docs/start.md:1 names sluice:1.1.1, and the version is 1.1"])

    def changelog(self, text, **options):
        self.write("CHANGELOG.md", text)
        return release.changelog_problems(self.folder, "1.1", options.get("allow", False))

    def test_the_changelog_has_the_version(self):
        ready = "# C\n\n## Unreleased\n\n## 1.1 (2026-11-25)\n\n- Line\n\n## 1.0\n\n- Line\n"
        self.assertEqual(self.changelog(ready), [])
        self.assertEqual(self.changelog("# C\n\n## 1.0\n\n- Line\n"), ["CHANGELOG.md has no section '## 1.1'"])
        empty = "# C\n\n## 1.1\n\n## 1.0\n\n- Line\n"
        self.assertEqual(self.changelog(empty), ["CHANGELOG.md: the section 1.1 is empty"])
        early = "# C\n\n## Unreleased\n\n- New\n\n## 1.1 (not released)\n\n- Line\n"
        self.assertEqual(len(self.changelog(early)), 2)
        self.assertEqual(self.changelog(early, allow=True), [])

    def jar(self, without=(), more=(), version="1.1"):
        jar = self.folder / "sluice-1.1.jar"
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\r\nImplementation-Version: {version}\r\n")
            for name in [*release.JAR_NEEDS, *more]:
                if name not in without:
                    archive.writestr(name, b"")
        return jar

    def test_what_the_jar_must_have_and_must_not(self):
        self.assertEqual(release.jar_problems(self.jar(), "1.1"), [])
        for name in release.JAR_NEEDS:
            self.assertEqual(release.jar_problems(self.jar(without=[name]), "1.1"), [f"sluice-1.1.jar lacks {name}"])
        rest = "org/apache/spark/status/api/v1/sluice/A.class"
        self.assertEqual(release.jar_problems(self.jar(more=[rest, f"META-INF/versions/17/{rest}"]), "1.1"), [])
        for name in ("org/other/A.class", "META-INF/versions/17/org/other/A.class", "org/apache/spark/status/A.class"):
            self.assertEqual(release.jar_problems(self.jar(more=[name]), "1.1"),
                             [f"sluice-1.1.jar has a class of others: {name}"])
        self.assertEqual(release.jar_problems(self.jar(version="1.0"), "1.1"),
                         ["sluice-1.1.jar says in its manifest that it is version 1.0"])
        budget, release.SIZE_BUDGET = release.SIZE_BUDGET, 100
        self.addCleanup(setattr, release, "SIZE_BUDGET", budget)
        self.assertIn("more than the 100 that it may have", release.jar_problems(self.jar(), "1.1")[0])

    def test_the_pom_is_complete(self):
        pom = self.write("a.pom", release.POM.format(version="1.1", url="https://example.org/sluice"))
        self.assertEqual(release.pom_problems(pom, "1.1"), [])
        self.assertEqual(release.pom_problems(pom, "1.2"), ["a.pom has version 1.1"])
        text = pom.read_text()
        bare = self.write("b.pom", text[:text.index("  <developers>")] + text[text.index("  <scm>"):])
        self.assertEqual(release.pom_problems(bare, "1.1"), ["b.pom has no developers/developer/name"])
        without = self.write("c.pom", release.POM.format(version="1.1", url=""))
        self.assertIn("c.pom has no page of the project: '' (--url https://…)", release.pom_problems(without, "1.1"))

    @unittest.skipUnless(shutil.which("gpg"), "no gpg")
    def test_a_signature_is_one_of_the_key_that_was_given(self):
        with tempfile.TemporaryDirectory() as home, mock.patch.dict(os.environ, {"GNUPGHOME": home}):
            def gpg(*arguments):
                return subprocess.run(["gpg", "--batch", "--quiet", *arguments], check=True, timeout=60,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout

            key = "a test <test@example.org>"
            try:
                gpg("--passphrase", "", "--quick-generate-key", key, "ed25519", "sign", "never")
                file = Path(home, "artifact.jar")
                file.write_bytes(b"what is published")
                release.sign(file, "test@example.org")
                self.assertIn("Good signature", gpg("--verify", f"{file}.asc", str(file)))
                file.write_bytes(b"something else")
                with self.assertRaises(subprocess.CalledProcessError):
                    gpg("--verify", f"{file}.asc", str(file))
            finally:
                subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], timeout=60)

    def test_checksums_and_signatures(self):
        for end in (".jar", ".pom", "-sources.jar", "-javadoc.jar"):
            file = self.write(f"sluice-1.1{end}", end)
            for algorithm in release.CHECKSUMS:
                self.write(f"{file.name}.{algorithm}", release.hashlib.new(algorithm, file.read_bytes()).hexdigest())
        self.assertEqual(release.repository_problems(self.folder, "1.1", signed=False), [])
        self.assertEqual(len(release.repository_problems(self.folder, "1.1", signed=True)), 4)
        self.write("sluice-1.1.pom", "changed")
        self.assertEqual(len(release.repository_problems(self.folder, "1.1", signed=False)), 4)
        (self.folder / "sluice-1.1-javadoc.jar").unlink()
        self.assertIn("the Maven repository lacks sluice-1.1-javadoc.jar",
                      release.repository_problems(self.folder, "1.1", signed=False))


if __name__ == "__main__":
    unittest.main()
