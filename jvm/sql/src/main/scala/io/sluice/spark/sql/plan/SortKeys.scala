package io.sluice.spark.sql.plan

import io.sluice.spark.sql.{BinaryRowSorter, ColumnOrder, KeyRows, RowOrder, SortColumn}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * The keys of a sort, or of ranges, in Sluice's terms: columns of the rows, or other expressions, of which a row of
 * keys is made for each row. A struct is as many keys as it has fields, and one more if it may be null.
 *
 * @param order    of the rows, or of the rows of keys
 * @param computed the keys, bound to the rows; empty where all are columns of the rows
 * @param fields   of the rows
 * @param whole    whether no key is a struct
 */
final class SortKeys private (val order: RowOrder, computed: Seq[Expression], fields: Int, whole: Boolean)
  extends KeyRows {

  override def projection(): UnsafeProjection = if (areColumns) null else UnsafeProjection.create(computed)

  override def areColumns: Boolean = computed.isEmpty

  /**
   * A sorter of the running task.
   *
   * @param radixSort whether Spark's own sorter would use its radix sort where it can: not for structs
   */
  def createSorter(radixSort: Boolean): BinaryRowSorter =
    BinaryRowSorter.create(order, projection(), fields, radixSort && whole)
}

object SortKeys {
  /** A key, bound to the rows, that is no struct. */
  private case class Key(value: Expression, descending: Boolean, nullsFirst: Boolean, nullable: Boolean)

  /**
   * Empty if one of the keys has a type whose order only Spark knows.
   *
   * @param columns of the rows. They decide whether a key may be null, as they do in Spark's generated comparisons
   */
  def of(keys: Seq[SortOrder], columns: Seq[Attribute]): Option[SortKeys] =
    ofColumns(keys, columns).orElse(if (areComputedBySpark(keys)) ofComputed(keys, columns) else None)

  /**
   * As [[of]], for ranges, of which Spark computes all keys of every row. It compares keys by what the order says of
   * null, which a row's column may say otherwise.
   */
  def ofRanges(keys: Seq[SortOrder], columns: Seq[Attribute]): Option[SortKeys] = {
    val agree = keys.zip(bound(keys, columns)).forall { case (key, value) => key.child.nullable == value.nullable }
    if (!agree) {
      None
    } else {
      ofColumns(keys, columns).orElse(if (keys.forall(_.child.deterministic)) ofComputed(keys, columns) else None)
    }
  }

  /** Empty if one of the keys is no column, or of a type whose order only Spark knows. */
  private def ofColumns(keys: Seq[SortOrder], columns: Seq[Attribute]): Option[SortKeys] =
    rowOrder(keys.map { key =>
      KeyColumn.of(key.child, columns).flatMap { found =>
        column(found.storedType, found.ordinal, found.nullable, isDescending(key), isNullsFirst(key))
      }
    }, columns.length).map(new SortKeys(_, Nil, columns.length, true))

  /**
   * Spark computes the first key of every row, and the others of those rows whose first keys are equal. Where computing
   * one may fail, a query that passes on Spark must not fail here.
   */
  private def areComputedBySpark(keys: Seq[SortOrder]): Boolean = keys.zipWithIndex.forall { case (key, i) =>
    neverFails(key.child) || i == 0 && !isStruct(key) && key.child.deterministic
  }

  private def neverFails(key: Expression): Boolean = (key match {
    case _: Attribute | _: Literal | _: GetStructField | _: CreateNamedStruct => true
    case _: Coalesce | _: If | _: CaseWhen => true
    case _: IsNull | _: IsNotNull | _: Not | _: And | _: Or | _: BinaryComparison => true
    case _: KnownFloatingPointNormalized | _: NormalizeNaNAndZero => true
    case _: Upper | _: Lower | _: Length | _: Substring | _: StringTrim => true
    case _: Year | _: Month | _: DayOfMonth | _: Hour | _: Minute | _: Second => true
    case _ => KeyColumn.isColumn(key)
  }) && key.children.forall(neverFails)

  private def ofComputed(keys: Seq[SortOrder], columns: Seq[Attribute]): Option[SortKeys] = {
    val flat = keys.zip(bound(keys, columns)).flatMap { case (key, value) =>
      flatten(Key(value, isDescending(key), isNullsFirst(key), value.nullable))
    }
    val order = rowOrder(flat.zipWithIndex.map { case (key, i) =>
      column(key.value.dataType, i, key.nullable, key.descending, key.nullsFirst)
    }, flat.length)
    order.map(new SortKeys(_, flat.map(_.value), columns.length, !keys.exists(isStruct)))
  }

  private def bound(keys: Seq[SortOrder], columns: Seq[Attribute]): Seq[Expression] =
    keys.map(key => BindReferences.bindReference(key.child, columns, allowFailures = true))

  private def isDescending(key: SortOrder): Boolean = key.direction == Descending

  private def isNullsFirst(key: SortOrder): Boolean = key.nullOrdering == NullsFirst

  private def isStruct(key: SortOrder): Boolean = key.dataType.isInstanceOf[StructType]

  private def column(
      kind: DataType, ordinal: Int, nullable: Boolean, descending: Boolean, nullsFirst: Boolean): Option[SortColumn] = {
    val column = SortColumn.of(kind, ordinal, nullable, descending, nullsFirst)
    if (column.isPresent) Some(column.get) else None
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
   * null goes where the key says. It asks every field for null, whatever the struct's type says.
   */
  private def flatten(key: Key): Seq[Key] = key.value.dataType match {
    case struct: StructType =>
      val marker = if (key.nullsFirst) IsNotNull(key.value) else IsNull(key.value)
      val markers = if (key.nullable) Seq(Key(marker, false, true, false)) else Nil
      markers ++ struct.fields.indices.flatMap(i =>
        flatten(Key(field(key.value, i), key.descending, !key.descending, true)))
    case _ => Seq(key)
  }

  private def field(struct: Expression, i: Int): Expression = struct match {
    case made: CreateNamedStruct => made.valExprs(i)
    case _ => GetStructField(struct, i)
  }
}
