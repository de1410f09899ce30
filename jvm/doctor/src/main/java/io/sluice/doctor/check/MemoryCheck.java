package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.HUGE_PAGES;
import static io.sluice.doctor.check.Subject.MEMORY;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.Text;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How much memory there is, a container's limit of it, and whether large pages can be had. */
public final class MemoryCheck implements Check {
  private static final String TRANSPARENT = "/sys/kernel/mm/transparent_hugepage/enabled";
  private static final Pattern HEAP = Pattern.compile("(\\d{1,7})([mMgG])");
  /** As Spark's least overhead: 384 MiB, for the JVM itself and Sluice's least. */
  private static final long LEAST_BEYOND_HEAP = 384 * Amount.MIB;

  private final long sluiceBytes;

  /** @param sluiceBytes memory outside the heap that settings give Sluice in each executor; 0 if they name none */
  public MemoryCheck(long sluiceBytes) {
    this.sluiceBytes = sluiceBytes;
  }

  @Override
  public Subject subject() {
    return MEMORY;
  }

  @Override
  public List<Finding> look(Host host) {
    Text info = host.read("/proc/meminfo");
    return List.of(memory(host, info), hugePages(host, info));
  }

  private Finding memory(Host host, Text info) {
    OptionalLong total = kilobytes(info, "MemTotal");
    if (total.isEmpty()) {
      return Finding.unknown(MEMORY, info.known() ? "/proc/meminfo has no MemTotal" : info.reason());
    }
    OptionalLong limit = containerLimit(host);
    String text = Amount.text(total.getAsLong()) + ", "
        + kilobytes(info, "MemAvailable").stream().mapToObj(Amount::text).findFirst().orElse("unknown") + " available";
    if (limit.isEmpty() || limit.getAsLong() >= total.getAsLong()) {
      return Finding.ok(MEMORY, text);
    }
    String limited = text + "; this control group may use " + Amount.text(limit.getAsLong());
    return heap(host).stream().mapToObj(heap -> beyond(limited, heap, limit.getAsLong() - heap)).findFirst()
        .orElse(Finding.ok(MEMORY, limited));
  }

  /** The heap that Spark gives the executor of this pod: on Kubernetes it is in the container's environment. */
  private static OptionalLong heap(Host host) {
    Matcher size = HEAP.matcher(host.environment("SPARK_EXECUTOR_MEMORY").orElse(""));
    if (!size.matches()) {
      return OptionalLong.empty();
    }
    long unit = size.group(2).equalsIgnoreCase("g") ? Amount.MIB * Amount.KIB : Amount.MIB;
    return OptionalLong.of(Long.parseLong(size.group(1)) * unit);
  }

  /** Whether what a container may use beyond the executor's heap holds the JVM itself and Sluice's memory. */
  private Finding beyond(String limited, long heap, long beyond) {
    String text = limited + ", of which the executor's heap is " + Amount.text(heap)
        + (sluiceBytes == 0 ? "" : " and the settings give Sluice " + Amount.text(sluiceBytes));
    long least = LEAST_BEYOND_HEAP + sluiceBytes;
    return beyond >= least ? Finding.ok(MEMORY, text)
        : Finding.warning(MEMORY, text + ": " + (beyond < 0 ? "nothing" : Amount.text(beyond))
            + " is left for the JVM itself and for Sluice's memory outside the heap; the container may be killed",
            "Raise spark.executor.memoryOverhead to at least " + Amount.text(least)
                + "; java -jar JAR conf KEY=VALUE… says how much your settings need");
  }

  /** The limit that a container sees at the top of its own hierarchy; version 2, then version 1. */
  private static OptionalLong containerLimit(Host host) {
    OptionalLong limit = Amount.number(host.read("/sys/fs/cgroup/memory.max").or(""));
    return limit.isPresent() ? limit : Amount.number(host.read("/sys/fs/cgroup/memory/memory.limit_in_bytes").or(""));
  }

  private static Finding hugePages(Host host, Text info) {
    Text modes = host.read(TRANSPARENT);
    String reserved = field(info, "HugePages_Total").filter(count -> !count.equals("0"))
        .map(count -> "; " + count + " reserved pages, which Sluice does not use").orElse("");
    if (!modes.known()) {
      return Finding.unknown(HUGE_PAGES, modes.reason());
    }
    int open = modes.value().indexOf('[');
    int close = modes.value().indexOf(']');
    String mode = open >= 0 && close > open ? modes.value().substring(open + 1, close) : modes.value();
    return mode.equals("never")
        ? Finding.warning(HUGE_PAGES, "transparent huge pages are off" + reserved,
            "As root: echo madvise > " + TRANSPARENT)
        : Finding.ok(HUGE_PAGES, "transparent huge pages: " + mode + reserved);
  }

  private static OptionalLong kilobytes(Text info, String name) {
    OptionalLong value = Amount.number(field(info, name).orElse("").replace(" kB", ""));
    return value.isPresent() ? OptionalLong.of(value.getAsLong() * Amount.KIB) : value;
  }

  private static Optional<String> field(Text info, String name) {
    return info.or("").lines().filter(line -> line.startsWith(name + ":")).findFirst()
        .map(line -> line.substring(name.length() + 1).strip());
  }
}
