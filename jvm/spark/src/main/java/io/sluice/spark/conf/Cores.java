package io.sluice.spark.conf;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;

/**
 * The cores of one executor.
 *
 * @param tasks tasks that can run at once in it
 * @param granted cores that it may use
 * @param spare cores that were granted to it and that no task's thread occupies: for encoder and decoder threads. Cores
 *     that the process could use only because nothing limits it do not count: other processes may need them.
 */
public record Cores(int tasks, int granted, int spare) {
  private static final int MAX_SPARE = 8;
  private static final Pattern LOCAL = Pattern.compile("local\\[\\s*(\\d+|\\*)\\s*(?:,.*)?\\]");
  private static final Pattern LOCAL_CLUSTER = Pattern.compile("local-cluster\\[\\s*\\d+\\s*,\\s*(\\d+)\\s*,.*\\]");

  static Cores of(SparkConf conf, ProcessGrant grant) {
    String master = conf.get("spark.master", "");
    Matcher local = LOCAL.matcher(master);
    if (local.matches()) {
      // local[n] is the user's word for how many cores to use; all of them run tasks.
      int cores = local.group(1).equals("*") ? grant.visibleCores() : Integer.parseInt(local.group(1));
      return new Cores(cores, cores, 0);
    }
    if (master.equals("local")) {
      return new Cores(1, 1, 0);
    }
    int cores = Math.max(1, grant.cores().orElseGet(() -> configuredCores(conf, master, grant)));
    int tasks = Math.max(1, cores / Math.max(1, conf.getInt("spark.task.cpus", 1)));
    int granted = Math.max(cores, grant.cpuQuota().orElse(0));
    return new Cores(tasks, granted, Math.min(MAX_SPARE, granted - tasks));
  }

  /** The most cores that pool threads of one kind use while a task runs. */
  int mostIdle() {
    return Math.min(MAX_SPARE, granted - 1);
  }

  /** The cores that an executor will have, for a process that is not an executor. */
  private static int configuredCores(SparkConf conf, String master, ProcessGrant grant) {
    if (conf.contains("spark.executor.cores")) {
      return conf.getInt("spark.executor.cores", 1);
    }
    Matcher cluster = LOCAL_CLUSTER.matcher(master);
    if (cluster.matches()) {
      return Integer.parseInt(cluster.group(1));
    }
    // A standalone executor takes all cores of its worker; YARN's and Kubernetes's take one unless told.
    return master.startsWith("spark://") ? grant.visibleCores() : 1;
  }
}
