package io.sluice.foreign

import org.apache.spark.SparkConf
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.test.SharedSparkSession

/** Nodes that another extension has put into a plan stay there, and the rows are Spark's. A suite of our own. */
final class OtherExtensionSuite
    extends SharedSparkSession
    with AdaptiveSparkPlanHelper
    with OnManagerUnderTest {
  private val sluices = Seq("SluiceSort", "SluicePartitions")

  override protected def sparkConf: SparkConf =
    super.sparkConf.set("spark.sql.extensions", classOf[OtherExtension].getName)

  private def queries: Seq[DataFrame] = {
    val events = spark.range(0, 2000, 1, 3).selectExpr("id", "pmod(hash(id), 50) as k", "concat('n', id % 7) as name")
    val totals = events.groupBy("k").count()
    Seq(
      events.orderBy("name", "id"),
      events.repartition(5, events("k")).sortWithinPartitions("id"),
      events.hint("merge").join(totals, "k"),
      events.selectExpr("id", "row_number() over (partition by k order by id) as n"))
  }

  for ((adaptive, phase) <- Seq(false -> OtherExtension.after, true -> OtherExtension.before)) {
    val settings = s"adaptive execution $adaptive, replaced $phase transitions"

    test(s"sorts and exchanges of others stay: $settings") {
      check(adaptive, Seq(OtherExtension.sorts -> phase, OtherExtension.exchanges -> phase),
        wanted = Seq("OtherSort", "OtherExchange"), unwanted = sluices ++ Seq("Sort", "Exchange"))
    }

    test(s"sorts of others stay above exchanges with Sluice's input: $settings") {
      check(adaptive, Seq(OtherExtension.sorts -> phase),
        wanted = Seq("OtherSort", "Exchange"), unwanted = Seq("SluiceSort", "Sort"))
    }

    test(s"exchanges of others stay below sorts of Sluice: $settings") {
      check(adaptive, Seq(OtherExtension.exchanges -> phase),
        wanted = Seq("OtherExchange"), unwanted = Seq("SluicePartitions", "Exchange"))
    }
  }

  test("without its settings the other extension replaces nothing") {
    withSQLConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      queries.foreach { query =>
        val names = nodes(query)
        assert(!names.exists(_.startsWith("Other")), query.queryExecution)
        assert(names.exists(_.endsWith("Sort")), query.queryExecution)
      }
    }
  }

  for (adaptive <- Seq(false, true)) {
    test(s"Sluice's nodes have the tags of Spark's: adaptive execution $adaptive") {
      withSQLConf(
        SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive.toString,
        SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1",
        OtherExtension.tags -> "true") {
        val found = queries.flatMap { query =>
          query.collect()
          collect(query.queryExecution.executedPlan) { case node if sluices.contains(node.nodeName) => node }
        }
        sluices.foreach(name => assert(found.exists(_.nodeName == name)))
        found.foreach(node => assert(node.getTagValue(OtherExtension.tag).contains("seen"), node))
      }
    }
  }

  private def check(
      adaptive: Boolean, settings: Seq[(String, String)], wanted: Seq[String], unwanted: Seq[String]): Unit =
    withSQLConf(
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive.toString,
      SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1") {
      val expected = withSQLConf("spark.sluice.enabled" -> "false")(queries.map(_.collect().toSeq))
      withSQLConf(settings: _*) {
        queries.zip(expected).foreach { case (query, rows) =>
          checkAnswer(query, rows)
          val names = nodes(query)
          wanted.foreach(name => assert(names.contains(name), query.queryExecution))
          unwanted.foreach(name => assert(!names.contains(name), query.queryExecution))
        }
      }
    }

  /** Names of the nodes of the plan that has run. */
  private def nodes(query: DataFrame): Seq[String] =
    collect(query.queryExecution.executedPlan) { case node => node.nodeName }
}
