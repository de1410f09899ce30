package io.sluice.doctor.spark;

import io.sluice.doctor.host.Host;
import java.util.Arrays;
import java.util.List;

/**
 * The folders that Spark would put shuffle files into here, as far as a machine shows; cluster managers give others.
 */
public final class SparkLocalDirs {
  private SparkLocalDirs() {}

  /**
   * Of {@code SPARK_LOCAL_DIRS}, {@code spark.local.dir} in {@code spark-defaults.conf}, and the folder for temporary
   * files: the first that there is.
   *
   * @param home of the Spark installation; empty when none is known
   */
  public static List<String> of(Host host, String home) {
    String folders = host.environment("SPARK_LOCAL_DIRS").orElseGet(() -> home.isEmpty() ? ""
        : new SparkHome(home).defaults(host).getOrDefault("spark.local.dir", ""));
    List<String> listed = Arrays.stream(folders.split(",")).map(String::strip).filter(name -> !name.isEmpty()).toList();
    return listed.isEmpty() ? List.of(host.property("java.io.tmpdir")) : listed;
  }
}
