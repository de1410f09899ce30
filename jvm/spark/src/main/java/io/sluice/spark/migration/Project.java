package io.sluice.spark.migration;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Who reads a setting: another shuffle manager, the library below it, or Spark.
 *
 * <p>The modes are those that keep blocks as the manager kept them: RAPIDS' names are Sluice's names; SparkRDMA and
 * SparkUCX left writing to Spark and moved its files by RDMA.
 */
enum Project {
  RAPIDS("RAPIDS Shuffle Manager", "com\\.nvidia\\.spark\\.(.+\\.)?RapidsShuffleManager", "",
      "spark.rapids.shuffle.", "spark.rapids.memory."),
  SPARK_RDMA("SparkRDMA", "org\\.apache\\.spark\\.shuffle\\.rdma\\.RdmaShuffleManager", "RDMA", "spark.shuffle.rdma."),
  SPARK_UCX("SparkUCX", "org\\.apache\\.spark\\.shuffle\\.(.+\\.)?UcxShuffleManager", "RDMA", "spark.shuffle.ucx."),
  UCX("UCX", "", ""),
  SPARK("Spark", "", ""),
  /** Variables and options outside of Spark's settings; only on the page. */
  ENVIRONMENT("Outside of Spark's settings", "", "");

  private final String title;
  private final Pattern manager;
  private final String mode;
  private final List<String> prefixes;

  Project(String title, String manager, String mode, String... prefixes) {
    this.title = title;
    this.manager = Pattern.compile(manager);
    this.mode = mode;
    this.prefixes = List.of(prefixes);
  }

  String title() {
    return title;
  }

  /** The value of {@code spark.sluice.mode} that takes the place of the manager; empty where its own setting says. */
  String mode() {
    return mode;
  }

  /** Keys that begin with one of these are the project's own. */
  List<String> prefixes() {
    return prefixes;
  }

  boolean owns(String key) {
    return prefixes.stream().anyMatch(key::startsWith);
  }

  /** The predecessor whose shuffle manager this class is. */
  static Optional<Project> ofManager(String className) {
    return Arrays.stream(values()).filter(project -> project.manager.matcher(className).matches())
        .filter(project -> !className.isEmpty()).findFirst();
  }
}
