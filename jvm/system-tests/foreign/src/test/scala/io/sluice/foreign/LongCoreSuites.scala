package io.sluice.foreign

import org.apache.spark.AccumulatorSuite
import org.apache.spark.CheckpointSuite
import org.apache.spark.DistributedSuite
import org.apache.spark.ExternalShuffleServiceSuite
import org.apache.spark.FailureSuite
import org.apache.spark.ImplicitOrderingSuite
import org.apache.spark.InternalAccumulatorSuite
import org.apache.spark.JobCancellationSuite
import org.apache.spark.MapOutputTrackerSuite
import org.apache.spark.PartitioningSuite
import org.apache.spark.ShuffleOldFetchProtocolSuite
import org.apache.spark.ThreadingSuite
import org.apache.spark.UnpersistSuite
import org.apache.spark.rdd.AsyncRDDActionsSuite
import org.apache.spark.rdd.DoubleRDDSuite
import org.apache.spark.rdd.LocalCheckpointSuite
import org.apache.spark.rdd.PairRDDFunctionsSuite
import org.apache.spark.rdd.RDDCleanerSuite
import org.apache.spark.rdd.RDDSuite
import org.apache.spark.rdd.SortedMergeCoalescedRDDSuite
import org.apache.spark.rdd.SortingSuite
import org.apache.spark.rdd.ZippedPartitionsSuite
import org.apache.spark.scheduler.AdaptiveSchedulingSuite
import org.apache.spark.scheduler.WorkerDecommissionExtendedSuite
import org.apache.spark.scheduler.WorkerDecommissionSuite

/** More suites of Spark core in which RDDs are shuffled; `./sluice test --all-suites` runs them. */
object LongCoreSuites {
  @InAllSuites final class ExternalService extends ExternalShuffleServiceSuite with SetsManagerUnderTest
  @InAllSuites final class OldFetchProtocol extends ShuffleOldFetchProtocolSuite with SetsManagerUnderTest
  @InAllSuites final class Rdd extends RDDSuite with OnManagerUnderTest
  @InAllSuites final class PairRdd extends PairRDDFunctionsSuite with OnManagerUnderTest
  @InAllSuites final class Sorting extends SortingSuite with OnManagerUnderTest
  @InAllSuites final class SortedMergeCoalesced extends SortedMergeCoalescedRDDSuite with OnManagerUnderTest
  @InAllSuites final class Partitioning extends PartitioningSuite with OnManagerUnderTest
  @InAllSuites final class ZippedPartitions extends ZippedPartitionsSuite with OnManagerUnderTest
  @InAllSuites final class DoubleRdd extends DoubleRDDSuite with OnManagerUnderTest
  @InAllSuites final class ImplicitOrderings extends ImplicitOrderingSuite with OnManagerUnderTest
  @InAllSuites final class AsyncActions extends AsyncRDDActionsSuite with OnManagerUnderTest
  @InAllSuites final class Checkpoints extends CheckpointSuite with OnManagerUnderTest
  @InAllSuites final class LocalCheckpoints extends LocalCheckpointSuite with OnManagerUnderTest
  @InAllSuites final class RddCleaner extends RDDCleanerSuite with OnManagerUnderTest
  @InAllSuites final class Unpersist extends UnpersistSuite with OnManagerUnderTest
  @InAllSuites final class Distributed extends DistributedSuite with OnManagerUnderTest
  @InAllSuites final class Failures extends FailureSuite with OnManagerUnderTest
  @InAllSuites final class JobCancellation extends JobCancellationSuite with OnManagerUnderTest
  @InAllSuites final class Threads extends ThreadingSuite with OnManagerUnderTest
  @InAllSuites final class MapOutputTrackers extends MapOutputTrackerSuite with OnManagerUnderTest
  @InAllSuites final class Accumulators extends AccumulatorSuite with OnManagerUnderTest
  @InAllSuites final class InternalAccumulators extends InternalAccumulatorSuite with OnManagerUnderTest
  @InAllSuites final class AdaptiveScheduling extends AdaptiveSchedulingSuite with OnManagerUnderTest
  @InAllSuites final class Decommission extends WorkerDecommissionSuite with OnManagerUnderTest
  @InAllSuites final class DecommissionExtended extends WorkerDecommissionExtendedSuite with OnManagerUnderTest
}
