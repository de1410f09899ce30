"""tools/gpu-kernels: that the jar's reader knows all that it makes."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READER = ROOT / "jvm/native-bridge/src/main/java/io/sluice/nativebridge/GpuKernels.java"
OLDEST_OF_DOCTOR = ROOT / "jvm/doctor/src/main/java/io/sluice/doctor/rdma/SmiDevice.java"


def constant(name):
    """A constant of the tool, which is a program and cannot be imported."""
    return re.search(rf"^{name} = (.*)$", (ROOT / "tools/gpu-kernels").read_text(), re.MULTILINE).group(1)


ARCHITECTURES = re.findall(r'"([^"]*)"', constant("ARCHITECTURES"))
PTX = constant("PTX").strip('"')


class GpuKernelsTest(unittest.TestCase):
    def test_the_jar_s_reader_unpacks_each_of_them(self):
        listed = re.search(r"List\.of\(([^)]*)\)", READER.read_text()).group(1)
        made = {f"{name}.cubin" for name in ARCHITECTURES} | {f"{PTX}.ptx"}
        self.assertEqual(made, set(re.findall(r'"([^"]*)"', listed)))

    def test_the_doctor_notes_what_is_older_than_all_of_them(self):
        oldest = int(re.search(r"OLDEST_CAPABILITY = (\d+)", OLDEST_OF_DOCTOR.read_text()).group(1))
        self.assertEqual(min(int(name.removeprefix("sm_")) for name in ARCHITECTURES), oldest)
        self.assertEqual(f"compute_{oldest}", PTX)


if __name__ == "__main__":
    unittest.main()
