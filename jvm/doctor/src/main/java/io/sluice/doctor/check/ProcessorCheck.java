package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.PROCESSOR;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.Text;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Cores, NUMA nodes, and which of the native core's instruction sets the processor can run. */
public final class ProcessorCheck implements Check {
  /**
   * The kernel's names of the processor flags; {@code abm} is lzcnt. Those of
   * native/crates/codec/src/kernels/instances.rs.
   */
  private static final Set<String> AVX2 = Set.of("avx2", "bmi1", "bmi2", "abm", "popcnt");
  private static final Set<String> AVX512 = Set.of("avx512f", "avx512bw", "avx512dq", "avx512vl");
  /** The instruction set that the native library is compiled for. */
  private static final Set<String> BASE = Set.of("cx16", "popcnt", "sse4_1", "sse4_2", "ssse3");

  @Override
  public Subject subject() {
    return PROCESSOR;
  }

  @Override
  public List<Finding> look(Host host) {
    Text info = host.read("/proc/cpuinfo");
    Optional<String> flagLine = field(info, "flags");
    String text = field(info, "model name").orElse("processor of unknown model") + ", " + cores(host, info);
    if (flagLine.isEmpty()) {
      return List.of(Finding.unknown(PROCESSOR,
          (info.known() ? "/proc/cpuinfo lists no features" : info.reason()) + "; " + cores(host, info)));
    }
    Set<String> flags = Arrays.stream(flagLine.get().split("\\s+")).collect(Collectors.toSet());
    if (!flags.containsAll(BASE)) {
      return List.of(Finding.problem(PROCESSOR, text + "; it lacks parts of x86-64-v2, which the native library needs",
          "Use a newer processor, or a CPU model of the virtual machine that passes SSE4.2 and POPCNT on"));
    }
    if (!flags.containsAll(AVX2)) {
      return List.of(Finding.warning(PROCESSOR, text + "; no AVX2: the portable inner loops are used",
          "In a virtual machine, choose a CPU model that passes AVX2 on (such as host-passthrough)"));
    }
    return List.of(Finding.ok(PROCESSOR,
        text + "; inner loops for " + (flags.containsAll(AVX512) ? "avx512" : "avx2")));
  }

  private static String cores(Host host, Text info) {
    long all = info.or("").lines().filter(line -> line.startsWith("processor")).count();
    int usable = host.availableCores();
    long nodes = host.list("/sys/devices/system/node").stream().filter(name -> name.matches("node\\d+")).count();
    return usable + (all > usable ? " of " + all : "") + " cores"
        + (nodes > 0 ? ", " + nodes + (nodes == 1 ? " NUMA node" : " NUMA nodes") : "");
  }

  private static Optional<String> field(Text info, String name) {
    return info.or("").lines().filter(line -> line.startsWith(name) && line.contains(":")).findFirst()
        .map(line -> line.substring(line.indexOf(':') + 1).strip());
  }
}
