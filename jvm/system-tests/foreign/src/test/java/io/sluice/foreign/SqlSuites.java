package io.sluice.foreign;

import org.apache.spark.sql.DataFrameAggregateSuite;
import org.apache.spark.sql.DataFrameJoinSuite;
import org.apache.spark.sql.DataFrameWindowFramesSuite;
import org.apache.spark.sql.DataFrameWindowFunctionsSuite;
import org.apache.spark.sql.DatasetSuite;
import org.apache.spark.sql.JoinSuite;
import org.apache.spark.sql.execution.CoalesceShufflePartitionsSuite;
import org.apache.spark.sql.execution.ExchangeSuite;
import org.apache.spark.sql.execution.adaptive.AdaptiveQueryExecSuite;
import org.apache.spark.sql.execution.joins.ExistenceJoinSuite;
import org.apache.spark.sql.execution.joins.InnerJoinSuite;
import org.apache.spark.sql.execution.joins.OuterJoinSuite;
import org.apache.spark.sql.execution.metric.SQLMetricsSuite;
import scala.collection.immutable.Seq;

/**
 * Suites of Spark SQL on the manager under test: these are the ones whose rows take Sluice's own path, and whose plans
 * depend on the sizes that shuffles report. Their sessions read the manager from the system property.
 */
public final class SqlSuites {
  private SqlSuites() {}

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

  public static final class DataFrameJoin extends DataFrameJoinSuite {
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

  public static final class InnerJoin extends InnerJoinSuite {
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

  public static final class OuterJoin extends OuterJoinSuite {
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

  public static final class ExistenceJoin extends ExistenceJoinSuite {
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

  public static final class DataFrameAggregate extends DataFrameAggregateSuite {
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

  public static final class DataFrameWindowFunctions extends DataFrameWindowFunctionsSuite {
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

  public static final class DataFrameWindowFrames extends DataFrameWindowFramesSuite {
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

  public static final class DatasetOfObjects extends DatasetSuite {
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
}
