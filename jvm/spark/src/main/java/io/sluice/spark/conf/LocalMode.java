package io.sluice.spark.conf;

import org.apache.spark.SparkConf;

/** Whether an application's driver runs its tasks itself: {@code local} and {@code local[…]}. */
public final class LocalMode {
  private LocalMode() {}

  /** As Spark's {@code Utils.isLocalMaster}, whose signature differs between Spark lines. */
  public static boolean of(SparkConf conf) {
    String master = conf.get("spark.master", "");
    return master.equals("local") || master.startsWith("local[");
  }
}
