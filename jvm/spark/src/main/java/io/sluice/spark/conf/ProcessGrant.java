package io.sluice.spark.conf;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;

/**
 * The cores and memory that the cluster manager or the container gave this process.
 *
 * @param runsTasks whether it is an executor, or a driver that runs the tasks itself
 * @param cores of an executor, as its command line says ({@code --cores}): right under stage-level resource profiles
 *     too, which {@code spark.executor.cores} is not
 * @param visibleCores processors that the JVM may run on
 * @param cpuQuota whole processors that a cgroup grants; empty without a quota
 * @param memoryBytes the memory limit of the process's cgroup; empty without one
 * @param heapBytes the most that the Java heap may take
 * @param machineBytes the machine's memory
 */
record ProcessGrant(boolean runsTasks, OptionalInt cores, int visibleCores, OptionalInt cpuQuota,
    OptionalLong memoryBytes, long heapBytes, long machineBytes) {
  private static final Pattern CORES_OPTION = Pattern.compile("ExecutorBackend\\b.*?\\s--cores\\s+(\\d+)\\b");

  /** Looks at this process and, for its role, at the application's settings. */
  static ProcessGrant ofThisProcess(SparkConf conf) {
    boolean executor = !conf.get("spark.executor.id", "driver").equals("driver");
    Cgroup cgroup = Cgroup.ofThisProcess(Path.of("/"));
    long machine = Cgroup.machineBytes(Path.of("/"));
    return new ProcessGrant(LocalMode.of(conf) || executor,
        executor ? coresOption(System.getProperty("sun.java.command", "")) : OptionalInt.empty(),
        Runtime.getRuntime().availableProcessors(), executor ? cgroup.cpuQuota() : OptionalInt.empty(),
        cgroup.memoryBytes(machine), maxHeapBytes(), machine);
  }

  /** {@code -Xmx}; the JVM's own answer leaves out a survivor space with some collectors. */
  private static long maxHeapBytes() {
    HotSpotDiagnosticMXBean hotSpot = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
    return hotSpot == null ? Runtime.getRuntime().maxMemory()
        : Long.parseLong(hotSpot.getVMOption("MaxHeapSize").getValue());
  }

  /** The value of {@code --cores} in the command line of one of Spark's executor backends. */
  static OptionalInt coresOption(String command) {
    Matcher option = CORES_OPTION.matcher(command);
    return option.find() ? OptionalInt.of(Integer.parseInt(option.group(1))) : OptionalInt.empty();
  }
}
