package io.sluice.spark.sql.plan

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}

/** The point at which Spark runs [[ReplaceSorts]]; it has nothing to do with columns. */
final class SluiceColumnarRule extends ColumnarRule {
  override def postColumnarTransitions: Rule[SparkPlan] = new ReplaceSorts
}
