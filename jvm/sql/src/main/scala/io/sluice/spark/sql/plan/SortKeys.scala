package io.sluice.spark.sql.plan

import io.sluice.spark.sql.{BinaryRowSorter, ColumnOrder, KeyRows, RowOrder, SortColumn}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.types.StructType

/**
 * The keys of a sort, or of ranges, in Sluice's terms: columns of the rows, or other expressions, of which a row of keys
 * is made for each row. A struct is as many keys as it has fields, and one more if it may be null.
 *
 * @param order    of the rows, or of the rows of keys
 * @param computed the keys; empty where all are columns of the rows
 * @param columns  of the rows
 * @param whole    whether each key of the sort is one key here
 */
final class SortKeys private (
    val order: RowOrder, computed: Seq[Expression], columns: Seq[Attribute], whole: Boolean) extends KeyRows {

  override def projection(): UnsafeProjection =
    if (computed.isEmpty) null else UnsafeProjection.create(computed, columns)

  /**
   * A sorter of the running task.
   *
   * @param radixSort whether Spark's own sorter would use its radix sort where it can: not for structs
   */
  def createSorter(radixSort: Boolean): BinaryRowSorter =
    BinaryRowSorter.create(order, projection(), columns.length, radixSort && whole)
}

object SortKeys {
  /**
   * Empty if one of the keys has a type whose order only Spark knows.
   *
   * @param columns of the rows. They decide whether a key may be null, as they do in Spark's generated comparisons
   */
  def of(keys: Seq[SortOrder], columns: Seq[Attribute]): Option[SortKeys] =
    ofColumns(keys, columns).map(new SortKeys(_, Nil, columns, true)).orElse(ofExpressions(keys, columns))

  /**
   * As [[of]], for ranges, of which Spark computes all keys of every row. It compares keys by what the order says of
   * null, which a row's column may say otherwise: such keys are computed.
   */
  def ofRanges(keys: Seq[SortOrder], columns: Seq[Attribute]): Option[SortKeys] = {
    val agree = keys.forall(key => KeyColumn.of(key.child, columns).forall(_.nullable == key.child.nullable))
    val found = if (agree) ofColumns(keys, columns).map(new SortKeys(_, Nil, columns, true)) else None
    found.orElse(if (keys.forall(_.child.deterministic)) ofFlat(keys, columns) else None)
  }

  /**
   * The order of rows by their columns; empty if one of the keys is none, or of a type whose order only Spark knows.
   */
  private def ofColumns(keys: Seq[SortOrder], columns: Seq[Attribute]): Option[RowOrder] =
    rowOrder(keys.map { key =>
      KeyColumn.of(key.child, columns).flatMap { found =>
        val column = SortColumn.of(found.storedType, found.ordinal, found.nullable,
          key.direction == Descending, key.nullOrdering == NullsFirst)
        if (column.isPresent) Some(column.get) else None
      }
    }, columns.length)

  private def ofExpressions(keys: Seq[SortOrder], columns: Seq[Attribute]): Option[SortKeys] =
    if (areComputedBySpark(keys)) ofFlat(keys, columns) else None

  /**
   * Spark computes the first key of every row, and the others of those rows whose first keys are equal. Where computing
   * one may fail, a query that passes on Spark must not fail here.
   */
  private def areComputedBySpark(keys: Seq[SortOrder]): Boolean = keys.zipWithIndex.forall { case (key, i) =>
    neverFails(key.child) || i == 0 && !key.dataType.isInstanceOf[StructType] && key.child.deterministic
  }

  private def neverFails(key: Expression): Boolean = (key match {
    case _: Attribute | _: Literal | _: GetStructField | _: CreateNamedStruct => true
    case _: Coalesce | _: If | _: CaseWhen => true
    case _: IsNull | _: IsNotNull | _: Not | _: And | _: Or | _: BinaryComparison => true
    case _: KnownFloatingPointNormalized | _: NormalizeNaNAndZero => true
    case _: Upper | _: Lower | _: Length | _: Substring | _: Concat | _: StringTrim => true
    case _: Year | _: Month | _: DayOfMonth | _: Hour | _: Minute | _: Second => true
    case _ => KeyColumn.isColumn(key)
  }) && key.children.forall(neverFails)

  private def ofFlat(keys: Seq[SortOrder], columns: Seq[Attribute]): Option[SortKeys] = {
    val flat = keys.flatMap(fields)
    val order = rowOrder(flat.zipWithIndex.map { case (key, i) =>
      val column = SortColumn.of(key.dataType, i, key.child.nullable,
        key.direction == Descending, key.nullOrdering == NullsFirst)
      if (column.isPresent) Some(column.get) else None
    }, flat.length)
    order.map(new SortKeys(_, flat.map(_.child), columns, flat.length == keys.length))
  }

  private def rowOrder(found: Seq[Option[SortColumn]], fields: Int): Option[RowOrder] =
    if (found.nonEmpty && found.forall(_.isDefined)) {
      val order = new java.util.ArrayList[SortColumn](found.length)
      found.foreach(_.foreach(column => order.add(column)))
      Some(new ColumnOrder(order, fields))
    } else {
      None
    }

  /**
   * Spark compares structs field by field, nulls first, and the other way round in descending order; a struct that is
   * null goes where the key says.
   */
  private def fields(key: SortOrder): Seq[SortOrder] = key.dataType match {
    case struct: StructType =>
      val nullsFirst = key.nullOrdering == NullsFirst
      val marker = if (nullsFirst) IsNotNull(key.child) else IsNull(key.child)
      val markers = if (key.child.nullable) Seq(SortOrder(marker, Ascending, NullsFirst, Nil)) else Nil
      val nulls = if (key.direction == Descending) NullsLast else NullsFirst
      markers ++ struct.fields.indices.flatMap(i =>
        fields(SortOrder(GetStructField(key.child, i), key.direction, nulls, Nil)))
    case _ => Seq(key)
  }
}
