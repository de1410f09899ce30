package io.sluice.spark.compat;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.apache.spark.SparkConf;
import org.apache.spark.shuffle.MigratableResolver;
import org.apache.spark.sql.execution.QueryExecution;

/**
 * Spark 4's {@code spark.sql.shuffleDependency.skipMigration.enabled}, which Spark Connect reads: an executor that is
 * decommissioned does not move the map outputs of SQL executions that have ended. Spark tells that to the block
 * resolver of the driver only, which moves nothing unless the application is in local mode. By name, because Spark 3
 * has none of it.
 */
public final class SkippedMigration {
  private static final String WANTED = "SkipMigration";

  private SkippedMigration() {}

  /** Whether executors of the application move map outputs when they are decommissioned, and can be told of skips. */
  public static boolean isPossible(SparkConf conf) {
    return conf.getBoolean("spark.decommission.enabled", false)
        && conf.getBoolean("spark.storage.decommission.enabled", false)
        && method(MigratableResolver.class, "addShuffleToSkip", int.class) != null;
  }

  /** Whether whoever made the execution wants its shuffles to stay where they are from its end on. */
  public static boolean isWanted(QueryExecution execution) {
    Method mode = method(QueryExecution.class, "shuffleCleanupMode");
    return mode != null && invoke(mode, execution).toString().equals(WANTED);
  }

  /** Makes this process leave the outputs of a shuffle where they are. */
  public static void add(MigratableResolver resolver, int shuffleId) {
    invoke(method(MigratableResolver.class, "addShuffleToSkip", int.class), resolver, shuffleId);
  }

  private static Method method(Class<?> owner, String name, Class<?>... parameters) {
    try {
      return owner.getMethod(name, parameters);
    } catch (NoSuchMethodException e) {
      return null;
    }
  }

  private static Object invoke(Method method, Object owner, Object... arguments) {
    try {
      return method.invoke(owner, arguments);
    } catch (InvocationTargetException e) {
      throw SparkLine.unchecked(e.getCause());
    } catch (IllegalAccessException e) {
      throw new IllegalStateException("Spark " + SparkLine.version() + " does not let " + method + " be called", e);
    }
  }
}
