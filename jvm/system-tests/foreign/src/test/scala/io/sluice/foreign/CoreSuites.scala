package io.sluice.foreign

import org.apache.spark.ContextCleanerSuite
import org.apache.spark.ShuffleNettyEpollSuite
import org.apache.spark.ShuffleNettyNioSuite
import org.apache.spark.SortShuffleSuite
import org.apache.spark.shuffle.HostLocalShuffleReadingSuite
import org.apache.spark.shuffle.ShuffleDependencySuite
import org.apache.spark.shuffle.ShuffleDriverComponentsSuite
import org.apache.spark.storage.BlockManagerDecommissionIntegrationSuite
import org.scalatest.DoNotDiscover

/** Suites of Spark core on the manager under test. `OnManagerUnderTest` alone: they read the system property. */
object CoreSuites {
  @RepeatedOverOtherTransport
  final class NettyNio extends ShuffleNettyNioSuite with SetsManagerUnderTest

  @RepeatedOverOtherTransport
  final class NettyEpoll extends ShuffleNettyEpollSuite with SetsManagerUnderTest

  @InAllSuites final class Sort extends SortShuffleSuite with SetsManagerUnderTest
  final class Dependency extends ShuffleDependencySuite with SetsManagerUnderTest
  final class HostLocal extends HostLocalShuffleReadingSuite with OnManagerUnderTest
  final class DriverComponents extends ShuffleDriverComponentsSuite with OnManagerUnderTest

  /** With all suites, in a JVM of its own; see the execution in the pom. */
  @DoNotDiscover
  final class Decommission extends BlockManagerDecommissionIntegrationSuite with OnManagerUnderTest

  /**
   * Its constructor reads `shuffleManager`, hence the early initializer; one of its tests makes a configuration with
   * it.
   */
  @InAllSuites final class ContextCleaner
      extends { override val shuffleManager: Class[_] = ManagerUnderTest.managerClass() }
      with ContextCleanerSuite
      with OnManagerUnderTest {
    ManagerUnderTest.set(conf)
  }
}
