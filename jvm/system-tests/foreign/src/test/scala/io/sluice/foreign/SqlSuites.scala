package io.sluice.foreign

import org.apache.spark.sql.DataFrameAggregateSuite
import org.apache.spark.sql.DataFrameJoinSuite
import org.apache.spark.sql.DataFrameWindowFramesSuite
import org.apache.spark.sql.DataFrameWindowFunctionsSuite
import org.apache.spark.sql.DatasetSuite
import org.apache.spark.sql.JoinSuite
import org.apache.spark.sql.execution.CoalesceShufflePartitionsSuite
import org.apache.spark.sql.execution.ExchangeSuite
import org.apache.spark.sql.execution.adaptive.AdaptiveQueryExecSuite
import org.apache.spark.sql.execution.joins.ExistenceJoinSuite
import org.apache.spark.sql.execution.joins.InnerJoinSuite
import org.apache.spark.sql.execution.joins.OuterJoinSuite
import org.apache.spark.sql.execution.metric.SQLMetricsSuite

/**
 * Suites of Spark SQL on the manager under test: those whose rows take Sluice's own path, and whose plans depend on the
 * sizes that shuffles report. Their sessions read the manager from the system property.
 */
object SqlSuites {
  final class AdaptiveQueryExec extends AdaptiveQueryExecSuite with OnManagerUnderTest
  final class Join extends JoinSuite with OnManagerUnderTest
  final class DataFrameJoin extends DataFrameJoinSuite with OnManagerUnderTest
  final class InnerJoin extends InnerJoinSuite with OnManagerUnderTest
  final class OuterJoin extends OuterJoinSuite with OnManagerUnderTest
  final class ExistenceJoin extends ExistenceJoinSuite with OnManagerUnderTest
  final class Exchange extends ExchangeSuite with OnManagerUnderTest
  final class CoalesceShufflePartitions extends CoalesceShufflePartitionsSuite with OnManagerUnderTest
  final class DataFrameAggregate extends DataFrameAggregateSuite with OnManagerUnderTest
  final class DataFrameWindowFunctions extends DataFrameWindowFunctionsSuite with OnManagerUnderTest
  final class DataFrameWindowFrames extends DataFrameWindowFramesSuite with OnManagerUnderTest
  final class DatasetOfObjects extends DatasetSuite with OnManagerUnderTest
  final class SqlMetrics extends SQLMetricsSuite with OnManagerUnderTest
}
