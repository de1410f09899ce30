package io.sluice.doctor.host;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The machine as the checks see it. Checks read nothing in another way, so that a test can hand them a machine made of
 * files. No method throws because a machine lacks something; paths are absolute, as on the machine itself.
 */
public interface Host {
  /** A small text file, such as those of {@code /proc} and {@code /sys}. */
  Text read(String path);

  /** Names in a folder, sorted; empty when there is no such folder or it cannot be read. */
  List<String> list(String path);

  /** Whether there is such a file or folder. */
  boolean exists(String path);

  /** Where a symbolic link points, as it is written; missing also when the link cannot be read. */
  Text link(String path);

  /** The path with all symbolic links followed; the same path when that cannot be done. */
  String resolve(String path);

  /** The path of the file, to read more of it than {@link #read} returns. */
  Path file(String path);

  Optional<String> environment(String name);

  /** A system property of this Java process; empty when not set. */
  String property(String name);

  /** Cores that this process may use. */
  int availableCores();

  /** The standard output of a program; missing if the program does not exist, fails, or exceeds its timeout. */
  Text run(String... command);

  Optional<Space> space(String path);

  /** Makes a file in the folder and removes it: why that cannot be done, or empty. */
  Optional<String> writeObstacle(String folder);

  /** IP addresses by network interface, such as {@code 10.0.0.5/24}; not those that reach the next link only. */
  Map<String, List<String>> addresses();

  /** Whether Sluice's native library can be used by this process, and its description of itself. */
  Text nativeLibrary();

  /** A file inside the jar that this program runs from; empty when the jar has none of this name. */
  Optional<byte[]> jarFile(String name);

  /** Reads memory of a process that this one started; the kernel decides as it does for {@code process_vm_readv}. */
  MemoryTrial readMemoryOfChild();
}
