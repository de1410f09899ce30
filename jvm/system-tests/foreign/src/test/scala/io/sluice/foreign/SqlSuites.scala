package io.sluice.foreign

import org.apache.spark.sql.DataFrameJoinSuite
import org.apache.spark.sql.DataFrameWindowFramesSuite
import org.apache.spark.sql.DataFrameWindowFunctionsSuite
import org.apache.spark.sql.ExplainSuite
import org.apache.spark.sql.ExplainSuiteAE
import org.apache.spark.sql.execution.CoalesceShufflePartitionsSuite
import org.apache.spark.sql.execution.ExchangeSuite
import org.apache.spark.sql.execution.InsertSortForLimitAndOffsetSuite
import org.apache.spark.sql.execution.RemoveRedundantSortsSuite
import org.apache.spark.sql.execution.RemoveRedundantSortsSuiteAE
import org.apache.spark.sql.execution.ReplaceHashWithSortAggSuite
import org.apache.spark.sql.execution.ReplaceHashWithSortAggSuiteAE
import org.apache.spark.sql.execution.ReuseExchangeAndSubquerySuite
import org.apache.spark.sql.execution.TakeOrderedAndProjectSuite
import org.apache.spark.sql.execution.WholeStageCodegenSuite
import org.apache.spark.sql.execution.adaptive.AdaptiveQueryExecSuite
import org.apache.spark.sql.execution.exchange.EnsureRequirementsSuite
import org.apache.spark.sql.execution.joins.ExistenceJoinSuite
import org.apache.spark.sql.execution.joins.InnerJoinSuite
import org.apache.spark.sql.execution.joins.OuterJoinSuite
import org.apache.spark.sql.execution.metric.SQLMetricsSuite
import org.apache.spark.sql.test.SharedSparkSession

/** That the sessions of Spark's suites, which are made without our doing, have the plugin. */
final class PluginUnderTest extends SharedSparkSession with OnManagerUnderTest {
  test("sorts are Sluice's") {
    assume(System.getProperty("spark.plugins", "").contains("io.sluice."))
    val plans = spark.range(10).selectExpr("-id as k").sortWithinPartitions("k").queryExecution.toString
    assert(plans.contains("SluiceSort"), plans)
  }
}

/**
 * Suites of Spark SQL on the manager under test: those whose rows take Sluice's own path, and whose plans depend on the
 * sizes that shuffles report. Their sessions read the manager and the plugin from system properties.
 */
object SqlSuites {
  @InAllSuites final class AdaptiveQueryExec extends AdaptiveQueryExecSuite with OnManagerUnderTest
  @InAllSuites final class DataFrameJoin extends DataFrameJoinSuite with OnManagerUnderTest
  @InAllSuites final class InnerJoin extends InnerJoinSuite with OnManagerUnderTest
  final class OuterJoin extends OuterJoinSuite with OnManagerUnderTest
  @InAllSuites final class ExistenceJoin extends ExistenceJoinSuite with OnManagerUnderTest
  final class Exchange extends ExchangeSuite with OnManagerUnderTest
  @InAllSuites final class CoalesceShufflePartitions extends CoalesceShufflePartitionsSuite with OnManagerUnderTest
  @InAllSuites final class DataFrameWindowFunctions extends DataFrameWindowFunctionsSuite with OnManagerUnderTest
  @InAllSuites final class DataFrameWindowFrames extends DataFrameWindowFramesSuite with OnManagerUnderTest
  @InAllSuites final class SqlMetrics extends SQLMetricsSuite with OnManagerUnderTest

  // Plans with sorts in them, which the plugin replaces.
  @InAllSuites final class RemoveRedundantSorts extends RemoveRedundantSortsSuite with OnManagerUnderTest
  final class RemoveRedundantSortsAdaptive extends RemoveRedundantSortsSuiteAE with OnManagerUnderTest
  @InAllSuites final class ReplaceHashWithSortAgg extends ReplaceHashWithSortAggSuite with OnManagerUnderTest
  final class ReplaceHashWithSortAggAdaptive extends ReplaceHashWithSortAggSuiteAE with OnManagerUnderTest
  final class InsertSortForLimitAndOffset extends InsertSortForLimitAndOffsetSuite with OnManagerUnderTest
  final class TakeOrderedAndProject extends TakeOrderedAndProjectSuite with OnManagerUnderTest
  @InAllSuites final class WholeStageCodegen extends WholeStageCodegenSuite with OnManagerUnderTest
  final class ReuseExchangeAndSubquery extends ReuseExchangeAndSubquerySuite with OnManagerUnderTest
  final class EnsureRequirements extends EnsureRequirementsSuite with OnManagerUnderTest
  final class Explain extends ExplainSuite with OnManagerUnderTest
  final class ExplainAdaptive extends ExplainSuiteAE with OnManagerUnderTest
}
