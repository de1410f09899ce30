package io.sluice.spark.sql.plan

import io.sluice.spark.metrics.NodeMetrics
import io.sluice.spark.sql.{BinaryRowSorter, SortMetrics}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SortOrder
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.{CodegenSupport, InputAdapter, SortExec, SparkPlan}

/**
 * A sort whose rows are sorted by [[BinaryRowSorter]]; shown as `SluiceSort`. Everything else about it is
 * `SortExec`'s: output, ordering, required distribution, metrics, to which it adds how rows were sorted. With keys that
 * `BinaryRowSorter` does not sort ([[SortKeys.of]] is empty) it does what `SortExec` does.
 *
 * The constructor has `SortExec`'s parameters, because Spark copies nodes through it.
 *
 * An instance on an executor belongs to one task at a time, as `SortExec`'s.
 */
class SluiceSortExec(keys: Seq[SortOrder], overAllPartitions: Boolean, input: SparkPlan, spillFrequency: Int)
  extends SortExec(keys, overAllPartitions, input, spillFrequency) {

  /** Evaluated on the driver, where plans are made, and sent with the node. */
  private lazy val keyRows: Option[SortKeys] = SortKeys.of(sortOrder, child.output)

  /** As `SortExec` has it: the setting of the session in which the node was made. */
  private val radixSort: Boolean = conf.enableRadixSort

  /** The sorter that was made last in this task. */
  @transient private var sorter: BinaryRowSorter = _

  /** The name of the variable in the generated code that holds the sorter. */
  @transient private var sorterTerm: String = _

  /**
   * Those of `SortExec`, by the same names on all lines, and ours. Scala cannot ask a superclass for its lazy value.
   */
  override lazy val metrics: Map[String, SQLMetric] = Map(
    "sortTime" -> NodeMetrics.millis(sparkContext, "sort time"),
    "peakMemory" -> NodeMetrics.bytes(sparkContext, "peak memory"),
    "spillSize" -> NodeMetrics.bytes(sparkContext, "spill size")) ++ added

  /** None where Spark's sorter sorts. */
  private def added: Map[String, SQLMetric] = if (keyRows.isEmpty) Map.empty else Map(
    SluiceSortExec.ByNumbers ->
      NodeMetrics.count(sparkContext, "rows whose order numbers of their keys proved"),
    SluiceSortExec.Compared ->
      NodeMetrics.count(sparkContext, "rows compared because such numbers were equal"))

  // Spark keeps a child that equals the child that should take its place, so this node must not equal a SortExec.
  override def canEqual(other: Any): Boolean = other.isInstanceOf[SluiceSortExec]

  override def equals(other: Any): Boolean = other.isInstanceOf[SluiceSortExec] && super.equals(other)

  override def hashCode(): Int = super.hashCode()

  /** A SortExec: an exchange above this node can be reused for one above Spark's sort, and the other way round. */
  override protected def doCanonicalize(): SparkPlan =
    new SortExec(sortOrder, global, child, testSpillFrequency).canonicalized

  override protected def withNewChildInternal(newChild: SparkPlan): SortExec =
    new SluiceSortExec(sortOrder, global, newChild, testSpillFrequency)

  /** Called by generated code too. */
  def createRowSorter(): BinaryRowSorter = {
    sorter = keyRows.get.createSorter(radixSort)
    sorter
  }

  override protected def doExecute(): RDD[InternalRow] =
    if (keyRows.isDefined) executeSorted() else super.doExecute()

  private def executeSorted(): RDD[InternalRow] = {
    val sortTime = longMetric("sortTime")
    val peakMemory = longMetric("peakMemory")
    val spillSize = longMetric("spillSize")
    val byNumbers = longMetric(SluiceSortExec.ByNumbers)
    val compared = longMetric(SluiceSortExec.Compared)
    child.execute().mapPartitions(rows => {
      val sorter = createRowSorter()
      val spilledBefore = SortMetrics.bytesSpilled(sorter)
      sorter.insertAll(rows)
      val sorted: Iterator[InternalRow] = sorter.sort()
      SortMetrics.add(sorter, spilledBefore, sortTime, peakMemory, spillSize, byNumbers, compared)
      sorted
    }, preservesPartitioning = false)
  }

  override protected def doProduce(ctx: CodegenContext): String =
    if (keyRows.isDefined) produceSorted(ctx) else super.doProduce(ctx)

  private def produceSorted(ctx: CodegenContext): String = {
    val needToSort = ctx.addMutableState("boolean", "needToSort", v => s"$v = true;")
    val plan = ctx.addReferenceObj("plan", this)
    sorterTerm = ctx.addMutableState(
      classOf[BinaryRowSorter].getName, "sorter", v => s"$v = $plan.createRowSorter();", forceInline = true)
    val sorted = ctx.addMutableState("scala.collection.Iterator<UnsafeRow>", "sortedIter", forceInline = true)
    val insertRows = insertRowsCode(ctx)
    val metrics = Seq("sortTime", "peakMemory", "spillSize", SluiceSortExec.ByNumbers, SluiceSortExec.Compared)
      .map(metricTerm(ctx, _)).mkString(", ")
    val sortMetrics = classOf[SortMetrics].getName
    val spilledBefore = ctx.freshName("spilledBefore")
    val row = ctx.freshName("outputRow")
    s"""
       | if ($needToSort) {
       |   long $spilledBefore = $sortMetrics.bytesSpilled($sorterTerm);
       |   $insertRows
       |   $sorted = $sorterTerm.sort();
       |   $sortMetrics.add($sorterTerm, $spilledBefore, $metrics);
       |   $needToSort = false;
       | }
       |
       | while ($limitNotReachedCond $sorted.hasNext()) {
       |   UnsafeRow $row = (UnsafeRow) $sorted.next();
       |   ${consume(ctx, null, row)}
       |   if (shouldStop()) return;
       | }
     """.stripMargin.trim
  }

  /**
   * All rows of an iterator go to the sorter in one call; rows that generated code makes are inserted one by one, in
   * [[doConsume]]. The loop in a function of its own is `SortExec`'s, its parameter too: the child's code may use
   * `partitionIndex`, which a nested class of the generated code would not find otherwise.
   */
  private def insertRowsCode(ctx: CodegenContext): String = child match {
    case _: InputAdapter =>
      val rows = ctx.addMutableState("scala.collection.Iterator", "input", v => s"$v = inputs[0];", forceInline = true)
      s"$sorterTerm.insertAll($rows);"
    case child: CodegenSupport =>
      val name = ctx.freshName("addToSorter")
      val function = ctx.addNewFunction(name,
        s"""
           | private void $name(int partitionIndex) throws java.io.IOException {
           |   ${child.produce(ctx, this)}
           | }
         """.stripMargin.trim)
      s"$function(partitionIndex);"
  }

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String =
    if (keyRows.isDefined) {
      s"""
         |${row.code}
         |$sorterTerm.insertRow((UnsafeRow) ${row.value});
       """.stripMargin
    } else {
      super.doConsume(ctx, input, row)
    }

  /** A join may call it before the sorter was made, when its other side is empty. */
  override def cleanupResources(): Unit = {
    if (sorter != null) {
      sorter.cleanupResources()
    }
    super.cleanupResources()
  }
}

object SluiceSortExec {
  private val ByNumbers = "sluiceRowsByNumbers"
  private val Compared = "sluiceRowsCompared"
}
