package io.sluice.spark.conf;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;

/**
 * How many cores an executor process may use for tasks, and how many it sees.
 *
 * @param task tasks that run at once in one executor
 * @param visible processors that the JVM may run on
 */
public record Cores(int task, int visible) {
  private static final int MAX_SPARE = 8;
  private static final Pattern LOCAL = Pattern.compile("local\\[\\s*(\\d+|\\*)\\s*(?:,.*)?\\]");
  private static final Pattern LOCAL_CLUSTER = Pattern.compile("local-cluster\\[\\s*\\d+\\s*,\\s*(\\d+)\\s*,.*\\]");

  /** Reads them from the application's settings and this process. */
  public static Cores of(SparkConf conf) {
    int visible = Runtime.getRuntime().availableProcessors();
    return new Cores(Math.max(1, taskCores(conf, visible)), visible);
  }

  private static int taskCores(SparkConf conf, int visible) {
    String master = conf.get("spark.master", "");
    Matcher local = LOCAL.matcher(master);
    if (local.matches()) {
      return local.group(1).equals("*") ? visible : Integer.parseInt(local.group(1));
    }
    if (master.equals("local")) {
      return 1;
    }
    if (conf.contains("spark.executor.cores")) {
      return conf.getInt("spark.executor.cores", 1);
    }
    Matcher cluster = LOCAL_CLUSTER.matcher(master);
    if (cluster.matches()) {
      return Integer.parseInt(cluster.group(1));
    }
    // A standalone executor takes all cores of its worker; YARN's and Kubernetes's take one unless told.
    return master.startsWith("spark://") ? visible : 1;
  }

  /** Processors that no task occupies, for encoder and decoder threads. */
  public int spare() {
    return Math.max(0, Math.min(MAX_SPARE, visible - task));
  }
}
