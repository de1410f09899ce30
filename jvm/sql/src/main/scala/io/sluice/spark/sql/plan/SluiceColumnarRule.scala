package io.sluice.spark.sql.plan

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}

/**
 * Runs Sluice's rules at the point at which Spark lets extensions change how rows become columns: after all rules that
 * decide by sorts and exchanges, when it is decided which nodes are columnar, and before the generation of code.
 */
final class SluiceColumnarRule extends ColumnarRule {
  override def postColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    private val rules = Seq(new ReplaceSorts, new FindPartitions, new ReadBatches)

    override def apply(plan: SparkPlan): SparkPlan = rules.foldLeft(plan)((changed, rule) => rule(changed))
  }
}
