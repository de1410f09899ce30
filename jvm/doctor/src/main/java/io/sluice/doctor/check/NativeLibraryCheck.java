package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.NATIVE_LIBRARY;
import static io.sluice.doctor.check.Subject.UNPACK_FOLDER;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.Mounts;
import io.sluice.doctor.host.Mounts.Mount;
import io.sluice.doctor.host.Text;
import java.util.List;
import java.util.Optional;

/** Loads the native library for real, and looks at the folder where it is unpacked for that. */
public final class NativeLibraryCheck implements Check {
  @Override
  public Subject subject() {
    return NATIVE_LIBRARY;
  }

  @Override
  public List<Finding> look(Host host) {
    String folder = host.property("java.io.tmpdir");
    Optional<Mount> mount = Mounts.of(host).holding(host.resolve(folder));
    boolean executable = mount.map(found -> !found.has("noexec")).orElse(true);
    Finding unpacked = folder(folder, executable, host.writeObstacle(folder));
    return List.of(library(host.nativeLibrary(), unpacked.next()), unpacked);
  }

  private static Finding library(Text library, String folderNext) {
    if (library.known()) {
      return Finding.ok(NATIVE_LIBRARY, library.value());
    }
    return Finding.problem(NATIVE_LIBRARY, library.reason(), folderNext.isEmpty()
        ? "Take a jar of a release, which has the native library for Linux on x86_64 and aarch64; in a checkout, "
            + "./sluice build says which of them it left out"
        : folderNext);
  }

  private static Finding folder(String folder, boolean executable, Optional<String> obstacle) {
    String next = "-Djava.io.tmpdir=DIR in spark.driver.extraJavaOptions and spark.executor.extraJavaOptions, "
        + "DIR on a file system that can be written and is not mounted noexec; or spark.sluice.native.library, the "
        + "path of libsluice_jni.so on such a file system";
    if (obstacle.isPresent()) {
      return Finding.problem(UNPACK_FOLDER, folder + " cannot be written: " + obstacle.get(), next);
    }
    return executable ? Finding.ok(UNPACK_FOLDER, folder + " can be written, and code loaded from it")
        : Finding.problem(UNPACK_FOLDER, folder + " is mounted noexec: no library can be loaded from it", next);
  }
}
