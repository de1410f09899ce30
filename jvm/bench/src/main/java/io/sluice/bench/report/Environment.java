package io.sluice.bench.report;

import io.sluice.bench.run.Hosts;
import io.sluice.bench.run.Site;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Where and how figures were taken, so that they can be taken again.
 *
 * @param command the arguments behind {@code ./sluice}
 * @param commit of the checkout, with a plus sign if files were changed since; null outside of git
 * @param started when, in UTC
 * @param cpu the processor's model, or the architecture where the system does not tell
 * @param cores processors the system has
 * @param memoryBytes physical memory
 * @param java version of the JVM of drivers and executors
 * @param master Spark's master, with the executors' number, cores and heap (MiB) for {@code local-cluster}
 * @param conf the user's {@code --conf} arguments
 * @param maps partitions of the generated data
 * @param partitions shuffle partitions asked for; 0 means the workload's own
 * @param scale scale factor of TPC-H's tables; null if none were read
 * @param hosts what {@code --cluster} asked for; null without it
 */
public record Environment(String command, String commit, String started, String cpu, int cores, long memoryBytes,
    String java, String master, Map<String, String> conf, int maps, int partitions,
    Double scale, Hosts hosts) {

  private static final double GIB = 1024.0 * 1024 * 1024;

  /** This machine, now. */
  public static Environment here(List<String> arguments, Site site, Map<String, String> conf, int maps,
      int partitions, Double scale) {
    String started = Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
    return new Environment("./sluice " + String.join(" ", arguments), System.getenv("SLUICE_COMMIT"), started,
        cpuModel(), Runtime.getRuntime().availableProcessors(), physicalMemory(), System.getProperty("java.version"),
        site.master().url(), conf, maps, partitions, scale, site.hosts());
  }

  /** The same with settings of one workload, as far as the user has none of that name, and its partitions. */
  public Environment with(Map<String, String> settings, int workloadPartitions) {
    Map<String, String> all = new LinkedHashMap<>(settings);
    all.putAll(conf);
    return new Environment(
        command, commit, started, cpu, cores, memoryBytes, java, master, all, maps, workloadPartitions, scale, hosts);
  }

  /** The master, or the hosts behind it, for people. */
  public String where() {
    return hosts == null ? master : hosts.describe();
  }

  /** The machine in one line. */
  public String machine() {
    return String.format(Locale.ROOT, "%s, %d cores, %.0f GiB, Java %s", cpu, cores, memoryBytes / GIB, java);
  }

  /** Physical memory of this machine; 0 where the system does not tell. */
  public static long physicalMemory() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof com.sun.management.OperatingSystemMXBean system
        ? system.getTotalMemorySize() : 0;
  }

  private static String cpuModel() {
    try (Stream<String> lines = Files.lines(Path.of("/proc/cpuinfo"))) {
      return lines.filter(line -> line.startsWith("model name")).findFirst()
          .map(line -> line.substring(line.indexOf(':') + 1).strip()).orElse(System.getProperty("os.arch"));
    } catch (IOException e) {
      return System.getProperty("os.arch");
    }
  }
}
