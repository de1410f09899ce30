package io.sluice.spark.sql.plan

import org.apache.spark.sql.catalyst.expressions.{Attribute, Cast, Expression, KnownFloatingPointNormalized}
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.types.{ByteType, DataType, IntegerType, LongType, ShortType}

/**
 * A key of a sort, a hash or a range that is a column of the rows, or follows from one: whole numbers in a wider type,
 * as joins of columns of different types have them, and floating-point numbers with one zero and one NaN.
 *
 * @param ordinal    of the column
 * @param storedType the column's type. Values compare in it as they do in the key's
 * @param keyType    the key's type
 * @param nullable   whether the column may be null, which Spark's generated code goes by
 */
final class KeyColumn private (val ordinal: Int, val storedType: DataType, val keyType: DataType, val nullable: Boolean)

object KeyColumn {
  private val wholeNumbers: Seq[DataType] = Seq(ByteType, ShortType, IntegerType, LongType)

  /** Empty where the key must be computed. */
  def of(key: Expression, columns: Seq[Attribute]): Option[KeyColumn] = column(key).flatMap { attribute =>
    val ordinal = columns.indexWhere(_.exprId == attribute.exprId)
    if (ordinal < 0) {
      None
    } else {
      Some(new KeyColumn(ordinal, attribute.dataType, key.dataType, columns(ordinal).nullable))
    }
  }

  /** Whether the key is a column, or follows from one. */
  def isColumn(key: Expression): Boolean = column(key).isDefined

  private def column(key: Expression): Option[Attribute] = key match {
    case attribute: Attribute => Some(attribute)
    // Zeros are equal for Spark's comparisons and hashes, and NaNs too, whichever they are.
    case KnownFloatingPointNormalized(NormalizeNaNAndZero(attribute: Attribute)) => Some(attribute)
    case cast: Cast if isWider(cast.child.dataType, cast.dataType) => cast.child match {
      case attribute: Attribute => Some(attribute)
      case _ => None
    }
    case _ => None
  }

  private def isWider(from: DataType, to: DataType): Boolean = {
    val source = wholeNumbers.indexOf(from)
    source >= 0 && source < wholeNumbers.indexOf(to)
  }
}
