"""What tools/third-party accepts. That the committed files are true is checked by tools/third-party --check itself."""

import importlib.machinery
import importlib.util
import sys
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1] / "third-party"


def load():
    # No .pyc beside a program.
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("third_party", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("third_party", loader))
    loader.exec_module(module)
    return module


third_party = load()
TEXT = [("LICENSE", "text")]


def component(name="a", version="1.0", licence="MIT", texts=TEXT):
    return third_party.Component(f"pkg:cargo/{name}@{version}", name, version, licence, texts=texts)


class ThirdPartyTest(unittest.TestCase):
    def setUp(self):
        twice = third_party.TWICE
        third_party.TWICE = {}
        self.addCleanup(setattr, third_party, "TWICE", twice)

    def refused(self, *components):
        with self.assertRaises(third_party.Fault) as caught:
            third_party.check(components)
        return str(caught.exception)

    def test_the_best_of_several_licences_is_chosen(self):
        for licence, wanted in (
            ("MIT", "MIT"), ("MIT OR Apache-2.0", "Apache-2.0"), ("MIT/Apache-2.0", "Apache-2.0"),
            ("Unlicense OR MIT", "MIT"), ("Apache-2.0 AND ISC", "Apache-2.0 AND ISC"),
            ("(GPL-2.0-only) OR (MIT AND ISC)", "MIT AND ISC"),
        ):
            self.assertEqual(third_party.chosen(licence), wanted)

    def test_other_licences_are_refused_by_name(self):
        for licence in ("GPL-3.0-only", "LGPL-2.1-or-later OR MPL-2.0", "MIT AND GPL-2.0-only", "none"):
            self.assertIn(f"a 1.0: licence '{licence}' is not accepted", self.refused(component(licence=licence)))

    def test_a_licence_needs_its_text_and_apaches_is_there(self):
        third_party.check([component(), component("b", licence="Apache-2.0", texts=[])])
        self.assertIn("b 1.0: no text of its licence, ISC", self.refused(component("b", licence="ISC", texts=[])))

    def test_two_versions_need_a_reason_and_a_reason_two_versions(self):
        twice = [component(), component(version="2.0")]
        self.assertIn("a is linked in versions 1.0 and 2.0", self.refused(*twice))
        third_party.TWICE = {"a": "because"}
        third_party.check(twice)
        self.assertIn("a is in TWICE and not linked twice", self.refused(component()))

    def test_only_what_is_linked_counts(self):
        def package(name, kind="lib"):
            return {"id": name, "name": name, "targets": [{"kind": [kind]}]}

        def dep(name, kind=None):
            return {"pkg": name, "dep_kinds": [{"kind": kind}]}

        metadata = {
            "packages": [package("root"), package("linked"), package("deeper"), package("macro", "proc-macro"),
                         package("syn"), package("tests"), package("builds")],
            "resolve": {"nodes": [
                {"id": "root", "deps": [dep("linked"), dep("macro"), dep("tests", "dev"), dep("builds", "build")]},
                {"id": "linked", "deps": [dep("deeper")]}, {"id": "deeper", "deps": []},
                {"id": "macro", "deps": [dep("syn")]}, {"id": "syn", "deps": []},
            ]},
        }
        self.assertEqual({name: needs for name, (_, needs) in third_party.linked(metadata, "root").items()},
                         {"root": ["linked"], "linked": ["deeper"], "deeper": []})

    def test_the_sbom_names_what_needs_what_and_never_the_time(self):
        one, two = component(), component("b")
        one.needs = {two.purl}
        document = third_party.sbom([one, two], {one.purl})
        self.assertEqual(document, third_party.sbom([one, two], {one.purl}))
        self.assertIn('"dependsOn": [\n    "pkg:cargo/b@1.0"\n   ]', document)
        self.assertNotIn("timestamp", document)


if __name__ == "__main__":
    unittest.main()
