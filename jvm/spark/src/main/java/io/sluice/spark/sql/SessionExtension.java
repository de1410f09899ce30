package io.sluice.spark.sql;

import org.apache.spark.SparkConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Names Sluice's extension of SQL sessions in {@code spark.sql.extensions}, on the driver. Its classes are Scala, once
 * for each version of Scala that Spark has, and are loaded by Spark alone.
 */
public final class SessionExtension {
  private static final Logger LOG = LoggerFactory.getLogger(SessionExtension.class);
  private static final String KEY = "spark.sql.extensions";
  /** Without it the application has only Spark's core. */
  private static final String POINT = "org.apache.spark.sql.SparkSessionExtensions";

  private SessionExtension() {}

  /**
   * Puts the extension before those of the user and of other plugins: Spark runs the rules of the first one last, so
   * that Sluice replaces only what all others have left. Must be called before the first session is made. Never throws.
   *
   * @param conf of the running application, not a copy
   */
  public static void addTo(SparkConf conf) {
    if (!isSqlThere()) {
      LOG.debug("Spark SQL is not there");
      return;
    }
    try {
      String others = conf.get(KEY, "").trim();
      String own = className(scala.util.Properties$.MODULE$.versionNumberString());
      if (!("," + others.replaceAll("\\s", "") + ",").contains("," + own + ",")) {
        conf.set(KEY, others.isEmpty() ? own : own + "," + others);
      }
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("Sorts of SQL queries are Spark's: the extension could not be added to {}", KEY, e);
    }
  }

  /** Whether the application can use Spark SQL. */
  public static boolean isSqlThere() {
    try {
      ClassLoader ofThread = Thread.currentThread().getContextClassLoader();
      Class.forName(POINT, false, ofThread == null ? SessionExtension.class.getClassLoader() : ofThread);
      return true;
    } catch (ClassNotFoundException | LinkageError e) {
      return false;
    }
  }

  static String className(String scalaVersion) {
    return scalaVersion.startsWith("2.12.") ? "io.sluice.spark.sql.scala212.plan.SluiceExtensions"
        : "io.sluice.spark.sql.plan.SluiceExtensions";
  }
}
