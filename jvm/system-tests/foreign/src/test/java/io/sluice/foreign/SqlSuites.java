package io.sluice.foreign;

import org.apache.spark.sql.JoinSuite;
import org.apache.spark.sql.execution.CoalesceShufflePartitionsSuite;
import org.apache.spark.sql.execution.ExchangeSuite;
import org.apache.spark.sql.execution.adaptive.AdaptiveQueryExecSuite;
import org.apache.spark.sql.execution.metric.SQLMetricsSuite;
import org.scalatest.DoNotDiscover;
import scala.collection.immutable.Seq;

/**
 * Suites of Spark SQL on the manager under test: these are the ones whose rows take Sluice's own path.
 * Their sessions read the manager from the system property.
 *
 * <p>Those marked {@code DoNotDiscover} run only when named with {@code -Dsuites}; the README says why.
 */
public final class SqlSuites {
  private SqlSuites() {}

  @DoNotDiscover
  public static final class AdaptiveQueryExec extends AdaptiveQueryExecSuite {
    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }

  @DoNotDiscover
  public static final class Join extends JoinSuite {
    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }

  public static final class Exchange extends ExchangeSuite {
    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }

  public static final class SqlMetrics extends SQLMetricsSuite {
    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }

  @DoNotDiscover
  public static final class CoalesceShufflePartitions extends CoalesceShufflePartitionsSuite {
    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }
}
