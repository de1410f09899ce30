package io.sluice.systemtests;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.RowToColumnarExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec;
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * A columnar engine as another extension brings it: it takes batches above the exchange at the top of a query's plan,
 * and makes rows of them, where the session's setting {@link #ENABLED} is true. Its operator is Spark's {@code
 * ColumnarToRowExec}, because a class in Java cannot extend a plan's node.
 */
public final class BatchEngine extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  static final String ENABLED = "test.batch.engine";

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectColumnar(new AbstractFunction1<>() {
      @Override
      public ColumnarRule apply(SparkSession session) {
        return new Transitions();
      }
    });
    return BoxedUnit.UNIT;
  }

  private static final class Transitions extends ColumnarRule {
    @Override
    public Rule<SparkPlan> preColumnarTransitions() {
      return new AboveExchanges();
    }
  }

  private static final class AboveExchanges extends Rule<SparkPlan> {
    @Override
    public SparkPlan apply(SparkPlan plan) {
      boolean enabled = plan.conf().getConfString(ENABLED, "false").equals("true");
      // Adaptive execution makes the stage that writes the exchange from a plan with the exchange at its top.
      boolean reads = plan instanceof AQEShuffleReadExec || plan instanceof ShuffleQueryStageExec
          || plan instanceof ShuffleExchangeExec && !plan.conf().adaptiveExecutionEnabled();
      return enabled && reads ? new ColumnarToRowExec(new RowToColumnarExec(plan)) : plan;
    }
  }
}
