package io.sluice.foreign

import org.apache.spark.SparkConf
import org.apache.spark.SparkFunSuite

/**
 * Runs a suite of Spark's on the manager under test: leaves out the tests that excluded-tests.tsv names, and checks
 * after each test that the running SparkEnv has that manager.
 */
trait OnManagerUnderTest extends SparkFunSuite {
  override def excluded: Seq[String] = ManagerUnderTest.excluded(this)

  override def afterEach(): Unit = {
    ManagerUnderTest.check()
    super.afterEach()
  }
}

/** For suites whose configuration ignores system properties (`new SparkConf(false)`): sets the manager in it. */
trait SetsManagerUnderTest extends OnManagerUnderTest {
  def conf: SparkConf

  override def beforeAll(): Unit = {
    super.beforeAll()
    ManagerUnderTest.set(conf)
  }
}
