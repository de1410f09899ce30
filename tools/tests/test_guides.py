"""The deployment guides are all listed with a date, and images and manifests are what the guides say of them."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ROOT / "docs" / "deployment"
IMAGES = sorted((GUIDES / "images").glob("Dockerfile.*"))
MANIFESTS = sorted((GUIDES / "kubernetes").glob("*.yaml"))


def instructions(file):
    """A Dockerfile's instructions as (name, arguments), continued lines joined."""
    text = re.sub(r"\\\n", " ", "\n".join(
        line for line in file.read_text(encoding="utf-8").split("\n") if not line.startswith("#")))
    return [tuple(line.split(None, 1)) for line in text.split("\n") if line.strip()]


class GuidesTest(unittest.TestCase):
    def test_every_guide_is_listed_with_its_date(self):
        listed = dict(re.findall(r"\| \[[^\]]*\]\(([\w-]+\.md)\) \| (\d+ \w+ 20\d\d) \|",
                                 (GUIDES / "guides.md").read_text(encoding="utf-8")))
        self.assertEqual({file.name for file in GUIDES.glob("*.md")} - {"guides.md"}, set(listed))

    def test_there_are_four_images(self):
        self.assertEqual(["rocky", "rocky-rdma", "ubuntu", "ubuntu-rdma"],
                         [file.name.split(".")[1] for file in IMAGES])

    def test_images_end_as_sparks_user_and_keep_no_lists_of_packages(self):
        for file in IMAGES:
            with self.subTest(file.name):
                found = instructions(file)
                users = [arguments for name, arguments in found if name == "USER"]
                self.assertEqual(["${SPARK_UID}"], users)
                self.assertIn(("ARG", "SPARK_UID=185"), found)
                self.assertEqual(("ENTRYPOINT", '["/opt/entrypoint.sh"]'), found[-1])
                self.assertNotIn("ADD", [name for name, _ in found])
                run, = [arguments for name, arguments in found if name == "RUN"]
                self.assertRegex(run, r"rm -rf /var/lib/apt/lists/\*|microdnf clean all")

    def test_images_with_and_without_rdma_differ_in_its_packages_alone(self):
        for base in ("ubuntu", "rocky"):
            with self.subTest(base):
                plain, rdma = (instructions(GUIDES / "images" / f"Dockerfile.{name}")
                               for name in (base, f"{base}-rdma"))
                words = [set(next(arguments for name, arguments in found if name == "RUN").split())
                         for found in (plain, rdma)]
                self.assertEqual(set(), words[0] - words[1])
                self.assertTrue({"libibverbs1", "libibverbs"} & (words[1] - words[0]))
                others = [[each for each in found if each[0] != "RUN"] for found in (plain, rdma)]
                self.assertEqual(*others)

    def test_the_jar_of_this_version_is_in_them(self):
        version = re.search(r"<version>([^<]*)</version>", (ROOT / "jvm/pom.xml").read_text(encoding="utf-8"))[1]
        for file in IMAGES:
            self.assertIn(("ARG", f"SLUICE_JAR=sluice-{version}.jar"), instructions(file), file.name)

    def test_executors_have_no_privileges(self):
        for file in MANIFESTS:
            text = file.read_text(encoding="utf-8")
            self.assertNotIn("privileged: true", text)
            if "name: executor" in text:
                with self.subTest(file.name):
                    self.assertIn("runAsUser: 185", text)
                    self.assertIn("allowPrivilegeEscalation: false", text)
                    self.assertIn("mountPath: /dev/shm", text)


if __name__ == "__main__":
    unittest.main()
