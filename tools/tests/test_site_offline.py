"""`./sluice site` for the first time without a network says what is missing; with the generator there it needs none."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What site.sh has from ./sluice; a generator cannot be installed, or is there and makes nothing.
SHELL = f"""
set -u
root={ROOT} build=$1 logs=$1/logs
note() {{ printf '%s\\n' "$*" >&2; }}
die() {{ printf 'error: %s\\n' "$*" >&2; exit 1; }}
step() {{ shift; "$@"; }}
. {ROOT}/tools/lib/site.sh
install_search_script() {{ return 1; }}
make_site() {{ :; }}
command_site
"""
PYTHON = "#!/bin/sh\necho 'no network' >&2\nexit 1\n"


class SiteOfflineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "python3").write_text(PYTHON)
        (self.folder / "bin" / "python3").chmod(0o755)

    def run_site(self):
        environment = dict(os.environ, PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}")
        return subprocess.run(["bash", "-c", SHELL, "bash", str(self.folder)], env=environment, timeout=60,
                              capture_output=True, text=True)

    def test_without_network_the_missing_generator_is_named(self):
        done = self.run_site()
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"error: the site's generator is not in {self.folder}/site/python", done.stderr)
        self.assertIn("install-site-generator.log", done.stderr)

    def test_with_the_generator_no_network_is_needed(self):
        (self.folder / "site" / "python").mkdir(parents=True)
        (self.folder / "site" / "python" / ".complete").touch()
        done = self.run_site()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("index.html", done.stderr)


if __name__ == "__main__":
    unittest.main()
