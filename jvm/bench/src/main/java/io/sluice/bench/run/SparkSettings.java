package io.sluice.bench.run;

import java.io.File;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Puts together the Spark settings of one engine's application. Everything but the engine's own settings and
 * its jar is the same for all engines.
 */
public final class SparkSettings {

  /** Points log4j, in drivers and executors, at a file in the bench jar. */
  public static final String LOG_OPTION = "-Dlog4j2.configurationFile=sluice-bench-log4j2.properties";

  /** How the benchmark plans queries: with the shuffles that it is to measure, and as many partitions every time. */
  private static final Map<String, String> OWN = Map.of(
      "spark.sql.adaptive.enabled", "false",
      "spark.sql.shuffle.partitions", "64",
      "spark.sql.autoBroadcastJoinThreshold", "-1");

  private SparkSettings() {}

  /**
   * Keys of the benchmark's own settings for queries. Those that the user sets are left out: they are for every
   * workload, also for those that want Spark's defaults.
   */
  public static List<String> ownKeys(Map<String, String> user) {
    return OWN.keySet().stream().filter(key -> !user.containsKey(key)).sorted().toList();
  }

  /**
   * The settings of {@code engine}'s application.
   *
   * @param executorJars what executors need in front of Spark's class path
   * @param localDir where shuffle files go, unless the master's workers have folders of their own below it
   * @param user the user's {@code --conf} arguments, which win over all defaults
   */
  public static Map<String, String> of(Engine engine, Site site, List<Path> executorJars, Path localDir,
      Map<String, String> user) {
    Map<String, String> settings = new LinkedHashMap<>();
    settings.put("spark.app.name", "sluice-bench-" + engine.label());
    settings.put("spark.master", site.master().url());
    site.master().executorMemoryMib().ifPresent(mib -> settings.put("spark.executor.memory", mib + "m"));
    settings.putAll(site.settings());
    settings.put("spark.executor.extraClassPath", classPath(executorJars));
    settings.put("spark.executor.extraJavaOptions", LOG_OPTION);
    settings.put("spark.local.dir", localDir.toString());
    settings.put("spark.sql.warehouse.dir", localDir.resolve("warehouse").toString());
    settings.put("spark.ui.enabled", "false");
    // All executors must be there before the first task, or locality and timing are not those of the cluster.
    settings.put("spark.scheduler.minRegisteredResourcesRatio", "1.0");
    settings.putAll(OWN);
    settings.putAll(engine.settings());
    settings.putAll(user);
    return settings;
  }

  private static String classPath(List<Path> jars) {
    return jars.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
  }
}
