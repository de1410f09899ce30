"""What tools/deny-java refuses, each as a fault in POMs that are good otherwise."""

import importlib.machinery
import importlib.util
import json
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1] / "deny-java"
GROUPS = {"library": ("dependency", "io.airlift", "aircompressor"), "test": ("dependency", "net.jqwik", "jqwik"),
          "strange": ("dependency", "org.example", "strange"), "plugin": ("plugin", "org.codehaus.mojo", "exec")}


def load():
    # No .pyc beside a program.
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("deny_java", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("deny_java", loader))
    loader.exec_module(module)
    return module


deny_java = load()


def named(what, version="1.0", scope=None):
    kind, group, artifact = GROUPS[what]
    parts = [f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId>"]
    parts += [f"<{tag}>{text}</{tag}>" for tag, text in (("version", version), ("scope", scope)) if text]
    return f"<{kind}>{''.join(parts)}</{kind}>"


def pom(*parts):
    return f'<project xmlns="http://maven.apache.org/POM/4.0.0">{"".join(parts)}</project>'


class DenyJavaTest(unittest.TestCase):
    def setUp(self):
        twice = deny_java.TWICE
        deny_java.TWICE = {}
        self.addCleanup(setattr, deny_java, "TWICE", twice)

    def faults(self, parent, module=pom()):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "module").mkdir()
            (Path(folder) / "pom.xml").write_text(parent)
            (Path(folder) / "module" / "pom.xml").write_text(module)
            return list(deny_java.faults(Path(folder)))

    def assert_refused(self, words, parent, module=pom()):
        faults = self.faults(parent, module)
        self.assertTrue(len(faults) == 1 and words in faults[0], faults)

    def advised(self, affected, version="1.5.2", **more):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "advisories" / "github-reviewed" / "2026" / "GHSA-1.json"
            path.parent.mkdir(parents=True)
            advisory = {"id": "GHSA-1", "summary": "bad", "affected": [affected], **more}
            path.write_text(json.dumps(advisory))
            return list(deny_java.advised_against(Path(folder), {"io.airlift:aircompressor": {version}}))

    @staticmethod
    def affected(*events, name="io.airlift:aircompressor", ecosystem="Maven", **more):
        return {"package": {"ecosystem": ecosystem, "name": name},
                "ranges": [{"type": "ECOSYSTEM", "events": list(events)}], **more}

    def test_advisories_of_the_versions_that_are_named(self):
        fixed = self.affected({"introduced": "0"}, {"fixed": "1.6"})
        self.assertEqual(self.advised(fixed), ["io.airlift:aircompressor 1.5.2: GHSA-1, bad"])
        self.assertEqual(self.advised(fixed, version="1.6"), [])
        self.assertEqual(self.advised(fixed, version="1.6.0"), [])
        self.assertEqual(len(self.advised(fixed, version="1.6-rc1")), 1)
        self.assertEqual(self.advised(fixed, version="1.10"), [])
        last = self.affected({"introduced": "1.5.2"}, {"last_affected": "1.5.3"})
        self.assertEqual([len(self.advised(last, version=v)) for v in ("1.5.1", "1.5.2", "1.5.3", "1.5.4")],
                         [0, 1, 1, 0])
        self.assertEqual(len(self.advised(self.affected(versions=["1.5.2"]))), 1)

    def test_advisories_that_are_about_others(self):
        all_versions = {"introduced": "0"}
        self.assertEqual(len(self.advised(self.affected(all_versions))), 1)
        self.assertEqual(self.advised(self.affected(all_versions), withdrawn="2026-01-01T00:00:00Z"), [])
        self.assertEqual(self.advised(self.affected(all_versions, ecosystem="npm")), [])
        self.assertEqual(self.advised(self.affected(all_versions, name="io.airlift:aircompressor-v3")), [])
        with tempfile.TemporaryDirectory() as folder:
            found = list(deny_java.advised_against(Path(folder), {"a:b": {"1"}}))
            self.assertIn("is no clone of GitHub's advisory database", found[0])

    def test_good_poms_have_no_fault(self):
        parent = pom("<properties><v>2.0-rc.1</v></properties>", named("library", "${v}"), named("plugin"),
                     named("test", scope="test"))
        module = pom(named("library", None), named("plugin", None), named("test", None))
        self.assertEqual(self.faults(parent, module), [])

    def test_a_version_must_be_one_fixed_number(self):
        for version in ("[1.0,2.0)", "LATEST", "1.0-SNAPSHOT", "${nowhere}", None):
            self.assert_refused("not one fixed number", pom(named("library", version)))
        self.assert_refused("not one fixed number", pom(), pom(named("plugin", None)))

    def test_two_versions_need_a_reason_and_a_reason_two_versions(self):
        twice = pom(named("library")), pom(named("library", "2.0"))
        self.assert_refused("has the versions 1.0 and 2.0", *twice)
        deny_java.TWICE = {"io.airlift:aircompressor": "because"}
        self.assertEqual(self.faults(*twice), [])
        self.assert_refused("has one version", pom(named("library")))

    def test_extensions_and_annotation_processors_are_looked_at(self):
        what = "<groupId>org.example</groupId><artifactId>strange</artifactId><version>1.0</version>"
        for part in (f"<build><extensions><extension>{what}</extension></extensions></build>",
                     f"<annotationProcessorPaths><path>{what}</path></annotationProcessorPaths>"):
            self.assert_refused("org.example:strange: its licence is not known", pom(part))

    def test_an_empty_version_is_none(self):
        empty = named("library").replace("1.0", "")
        self.assert_refused("not one fixed number", pom(empty))

    def test_a_pom_names_no_repository_and_no_file(self):
        for name in ("repositories", "pluginRepositories"):
            self.assert_refused(f"{name} of its own", pom(), pom(f"<profile><{name}/></profile>"))
        self.assert_refused("a file of this machine", pom(named("library", scope="system")))

    def test_licences_must_be_known_and_permit_the_use(self):
        self.assert_refused("its licence is not known", pom(named("strange")))
        self.assert_refused("EPL-2.0 permits test, not compile", pom(named("test")))
        self.assert_refused("EPL-2.0 permits test, not provided",
                            pom(named("test", scope="test")), pom(named("test", None, "provided")))


if __name__ == "__main__":
    unittest.main()
