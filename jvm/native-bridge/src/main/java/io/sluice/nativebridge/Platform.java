package io.sluice.nativebridge;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * The operating system and processor as the native library's folder names spell them.
 *
 * @param os such as {@code linux}
 * @param arch such as {@code x86_64} or {@code aarch64}
 * @param cpuFlags the processor's feature flags; empty when they are not known
 */
record Platform(String os, String arch, Set<String> cpuFlags) {
  /** What the library for x86_64 needs beyond the first 64-bit processors; the one for aarch64 runs on all of them. */
  private static final List<String> X86_64_V2 = List.of("cx16", "popcnt", "sse4_1", "sse4_2", "ssse3");
  private static final Set<String> SUPPORTED = Set.of("linux-aarch64", "linux-x86_64");

  static Platform current() {
    String os = System.getProperty("os.name", "").toLowerCase(Locale.ROOT).replace(' ', '_');
    String arch = System.getProperty("os.arch", "").toLowerCase(Locale.ROOT);
    return new Platform(os, arch.equals("amd64") ? "x86_64" : arch, readCpuFlags());
  }

  private static Set<String> readCpuFlags() {
    try (Stream<String> lines = Files.lines(Path.of("/proc/cpuinfo"), StandardCharsets.ISO_8859_1)) {
      Optional<String> flags = lines.filter(line -> line.startsWith("flags")).findFirst();
      return flags.map(line -> Set.copyOf(List.of(line.substring(line.indexOf(':') + 1).trim().split("\\s+"))))
          .orElse(Set.of());
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
    List<String> lacking = cpuFlags.isEmpty() || !arch.equals("x86_64") ? List.of()
        : X86_64_V2.stream().filter(flag -> !cpuFlags.contains(flag)).toList();
    return lacking.isEmpty() ? null : "this processor lacks " + lacking + ", the native library needs x86-64-v2";
  }
}
