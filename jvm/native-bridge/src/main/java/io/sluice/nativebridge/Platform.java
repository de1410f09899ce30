package io.sluice.nativebridge;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/**
 * The operating system and processor as the native library's folder names spell them.
 *
 * @param os such as {@code linux}
 * @param arch such as {@code x86_64} or {@code aarch64}
 * @param cpuFlags the processor's feature flags; empty when they are not known
 */
record Platform(String os, String arch, Set<String> cpuFlags) {
  /** The processor features that the x86_64 library needs; the aarch64 library needs none beyond the base. */
  private static final List<String> X86_64_V2 = List.of("cx16", "popcnt", "sse4_1", "sse4_2", "ssse3");
  private static final Set<String> SUPPORTED = Set.of("linux-aarch64", "linux-x86_64");

  static Platform current() {
    String os = System.getProperty("os.name", "").toLowerCase(Locale.ROOT).replace(' ', '_');
    String arch = System.getProperty("os.arch", "").toLowerCase(Locale.ROOT);
    return new Platform(os, arch.equals("amd64") ? "x86_64" : arch, readCpuFlags());
  }

  /** Without streams: their classes and lambdas take longer to load than all the rest that a new executor does here. */
  private static Set<String> readCpuFlags() {
    try (BufferedReader lines = Files.newBufferedReader(Path.of("/proc/cpuinfo"), StandardCharsets.ISO_8859_1)) {
      String line = lines.readLine();
      while (line != null && !line.startsWith("flags")) {
        line = lines.readLine();
      }
      return line == null ? Set.of()
          : new HashSet<>(Arrays.asList(line.substring(line.indexOf(':') + 1).trim().split("\\s+")));
    } catch (IOException | RuntimeException e) {
      return Set.of();
    }
  }

  /** Name of the library's folder in the jar. */
  String name() {
    return os + "-" + arch;
  }

  /** Why the library cannot run here, or null. */
  String unsupportedReason() {
    if (!SUPPORTED.contains(name())) {
      return "there is no native library for " + name() + "; supported: " + new TreeSet<>(SUPPORTED);
    }
    List<String> lacking = new ArrayList<>();
    if (!cpuFlags.isEmpty() && arch.equals("x86_64")) {
      lacking.addAll(X86_64_V2);
      lacking.removeAll(cpuFlags);
    }
    return lacking.isEmpty() ? null : "this processor lacks " + lacking + ", the native library needs x86-64-v2";
  }
}
