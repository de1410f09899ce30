package io.sluice.foreign

import org.apache.spark.sql.CachedTableSuite
import org.apache.spark.sql.ConfigBehaviorSuite
import org.apache.spark.sql.DataFrameAggregateSuite
import org.apache.spark.sql.DataFrameSelfJoinSuite
import org.apache.spark.sql.DataFrameSessionWindowingSuite
import org.apache.spark.sql.DataFrameSetOperationsSuite
import org.apache.spark.sql.DataFrameSuite
import org.apache.spark.sql.DataFrameTimeWindowingSuite
import org.apache.spark.sql.DatasetSuite
import org.apache.spark.sql.DynamicPartitionPruningV1SuiteAEOff
import org.apache.spark.sql.DynamicPartitionPruningV1SuiteAEOn
import org.apache.spark.sql.JoinSuite
import org.apache.spark.sql.SparkSessionExtensionSuite
import org.apache.spark.sql.SubquerySuite
import org.apache.spark.sql.collation.CollationSuite
import org.apache.spark.sql.connector.KeyGroupedPartitioningSuite
import org.apache.spark.sql.execution.PlannerSuite
import org.apache.spark.sql.execution.ProjectedOrderingAndPartitioningSuite
import org.apache.spark.sql.execution.QueryExecutionSuite
import org.apache.spark.sql.execution.RemoveRedundantProjectsSuite
import org.apache.spark.sql.execution.RemoveRedundantProjectsSuiteAE
import org.apache.spark.sql.execution.RemoveRedundantWindowGroupLimitsSuite
import org.apache.spark.sql.execution.RemoveRedundantWindowGroupLimitsSuiteAE
import org.apache.spark.sql.execution.SQLWindowFunctionSuite
import org.apache.spark.sql.execution.SortSuite
import org.apache.spark.sql.execution.datasources.V1WriteCommandSuite
import org.apache.spark.sql.execution.joins.SingleJoinSuite
import org.apache.spark.sql.execution.metric.SQLLastAttemptMetricPlanShapesSuite
import org.apache.spark.sql.sources.BucketedReadWithoutHiveSupportSuite
import org.apache.spark.sql.sources.BucketedWriteWithoutHiveSupportSuite
import org.apache.spark.sql.sources.DisableUnnecessaryBucketedScanWithoutHiveSupportSuite
import org.apache.spark.sql.sources.DisableUnnecessaryBucketedScanWithoutHiveSupportSuiteAE
import org.apache.spark.sql.streaming.StreamingAggregationSuite
import org.apache.spark.sql.streaming.StreamingQuerySuite
import org.apache.spark.sql.streaming.StreamingSessionWindowDistributionSuite

/** More suites of Spark SQL in which rows are shuffled or sorted; `./sluice test --all-suites` runs them. */
object LongSqlSuites {
  @InAllSuites final class Planner extends PlannerSuite with OnManagerUnderTest
  @InAllSuites final class Sort extends SortSuite with OnManagerUnderTest
  @InAllSuites final class DataFrames extends DataFrameSuite with OnManagerUnderTest
  @InAllSuites final class DatasetOfObjects extends DatasetSuite with OnManagerUnderTest
  @InAllSuites final class V1WriteCommand extends V1WriteCommandSuite with OnManagerUnderTest
  @InAllSuites final class DataFrameAggregate extends DataFrameAggregateSuite with OnManagerUnderTest
  @InAllSuites final class LastAttemptMetricPlanShapes
      extends SQLLastAttemptMetricPlanShapesSuite
      with OnManagerUnderTest
  @InAllSuites final class SetOperations extends DataFrameSetOperationsSuite with OnManagerUnderTest
  @InAllSuites final class Subqueries extends SubquerySuite with OnManagerUnderTest
  @InAllSuites final class CachedTables extends CachedTableSuite with OnManagerUnderTest
  @InAllSuites final class BucketedRead extends BucketedReadWithoutHiveSupportSuite with OnManagerUnderTest
  @InAllSuites final class BucketedWrite extends BucketedWriteWithoutHiveSupportSuite with OnManagerUnderTest
  @InAllSuites final class BucketedScan
      extends DisableUnnecessaryBucketedScanWithoutHiveSupportSuite
      with OnManagerUnderTest
  @InAllSuites final class BucketedScanAdaptive
      extends DisableUnnecessaryBucketedScanWithoutHiveSupportSuiteAE
      with OnManagerUnderTest
  @InAllSuites final class Collations extends CollationSuite with OnManagerUnderTest
  @InAllSuites final class ConfigBehavior extends ConfigBehaviorSuite with OnManagerUnderTest
  @InAllSuites final class SessionExtensions extends SparkSessionExtensionSuite with OnManagerUnderTest
  @InAllSuites final class KeyGroupedPartitioning extends KeyGroupedPartitioningSuite with OnManagerUnderTest
  @InAllSuites final class StreamingQueries extends StreamingQuerySuite with OnManagerUnderTest
  @InAllSuites final class StreamingSessionWindows
      extends StreamingSessionWindowDistributionSuite
      with OnManagerUnderTest
  @InAllSuites final class Join extends JoinSuite with OnManagerUnderTest
  @InAllSuites final class SelfJoin extends DataFrameSelfJoinSuite with OnManagerUnderTest
  @InAllSuites final class SingleJoin extends SingleJoinSuite with OnManagerUnderTest
  @InAllSuites final class TimeWindows extends DataFrameTimeWindowingSuite with OnManagerUnderTest
  @InAllSuites final class SessionWindows extends DataFrameSessionWindowingSuite with OnManagerUnderTest
  @InAllSuites final class SqlWindowFunctions extends SQLWindowFunctionSuite with OnManagerUnderTest
  @InAllSuites final class WindowGroupLimits extends RemoveRedundantWindowGroupLimitsSuite with OnManagerUnderTest
  @InAllSuites final class WindowGroupLimitsAdaptive
      extends RemoveRedundantWindowGroupLimitsSuiteAE
      with OnManagerUnderTest
  @InAllSuites final class PartitionPruning extends DynamicPartitionPruningV1SuiteAEOff with OnManagerUnderTest
  @InAllSuites final class PartitionPruningAdaptive extends DynamicPartitionPruningV1SuiteAEOn with OnManagerUnderTest
  @InAllSuites final class ProjectedOrdering extends ProjectedOrderingAndPartitioningSuite with OnManagerUnderTest
  @InAllSuites final class QueryExecutions extends QueryExecutionSuite with OnManagerUnderTest
  @InAllSuites final class RedundantProjects extends RemoveRedundantProjectsSuite with OnManagerUnderTest
  @InAllSuites final class RedundantProjectsAdaptive extends RemoveRedundantProjectsSuiteAE with OnManagerUnderTest
  @InAllSuites final class StreamingAggregations extends StreamingAggregationSuite with OnManagerUnderTest
}
