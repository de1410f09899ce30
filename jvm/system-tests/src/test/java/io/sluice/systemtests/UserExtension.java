package io.sluice.systemtests;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** An extension of SQL sessions that the application names itself; it adds nothing. */
public final class UserExtension extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  private static volatile boolean applied;

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    applied = true;
    return BoxedUnit.UNIT;
  }

  /** Whether Spark has applied it in this process. */
  static boolean applied() {
    return applied;
  }
}
