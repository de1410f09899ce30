package io.sluice.spark.exchange;

import io.sluice.spark.sql.PhysicalType;
import java.io.Serializable;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.bitset.BitSetMethods;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * One column that rows are hashed by, and its hash as Spark's {@code Murmur3Hash} computes it from the column's value:
 * a struct's from its fields, one after the other. Immutable; any thread.
 */
public final class HashColumn implements Serializable {
  private static final long serialVersionUID = 1;

  /** Null for a struct. */
  private final PhysicalType type;
  /** Of a struct, else null. */
  private final HashColumn[] structFields;
  /** Whether a value is hashed as the long that it is widened to. Bytes, shorts and ints are hashed alike. */
  private final boolean asLong;
  private final int ordinal;
  private final boolean nullable;

  private HashColumn(PhysicalType type, HashColumn[] structFields, boolean asLong, int ordinal, boolean nullable) {
    this.type = type;
    this.structFields = structFields;
    this.asLong = asLong;
    this.ordinal = ordinal;
    this.nullable = nullable;
  }

  /**
   * A column of the given type; empty for types whose hash is left to Spark: strings with a collation, arrays, maps,
   * user-defined types, calendar intervals, and structs that have such a field.
   *
   * @param stored the column's type
   * @param hashed the type that its values are hashed as; a whole number may be stored in a narrower type
   * @param ordinal of the field
   * @param nullable if false, Spark does not look at the row's null bit, and so this does not either
   */
  public static Optional<HashColumn> of(DataType stored, DataType hashed, int ordinal, boolean nullable) {
    if (stored instanceof StructType struct && stored.equals(hashed)) {
      return structOf(struct, ordinal, nullable);
    }
    Optional<PhysicalType> from = PhysicalType.of(stored);
    Optional<PhysicalType> to = PhysicalType.of(hashed);
    if (!from.isPresent() || !to.isPresent() || !widens(from.get(), to.get())) {
      return Optional.empty();
    }
    boolean asLong = from.get() != to.get() && to.get() == PhysicalType.LONG;
    return Optional.of(new HashColumn(from.get(), null, asLong, ordinal, nullable));
  }

  private static Optional<HashColumn> structOf(StructType struct, int ordinal, boolean nullable) {
    StructField[] fields = struct.fields();
    HashColumn[] columns = new HashColumn[fields.length];
    for (int i = 0; i < fields.length; i++) {
      Optional<HashColumn> column = of(fields[i].dataType(), fields[i].dataType(), i, fields[i].nullable());
      if (!column.isPresent()) {
        return Optional.empty();
      }
      columns[i] = column.get();
    }
    return Optional.of(new HashColumn(null, columns, false, ordinal, nullable));
  }

  private static boolean widens(PhysicalType from, PhysicalType to) {
    return from == to || isWhole(from) && isWhole(to) && from.bits() < to.bits();
  }

  private static boolean isWhole(PhysicalType type) {
    return type == PhysicalType.BYTE || type == PhysicalType.SHORT || type == PhysicalType.INT
        || type == PhysicalType.LONG;
  }

  /** The column's place in the row. */
  int ordinal() {
    return ordinal;
  }

  /** Whether its values are hashed by their own type, and are no structs: as the native core hashes a column. */
  boolean isPlain() {
    return structFields == null && !asLong;
  }

  /**
   * The hash of the row's value, begun with that of the columns before; null has none.
   *
   * @param row where the row starts
   * @param fields where its first field is
   */
  int hash(Object base, long row, long fields, int seed) {
    if (nullable && BitSetMethods.isSet(base, row, ordinal)) {
      return seed;
    }
    long at = fields + (long) ordinal * Long.BYTES;
    if (structFields != null) {
      return hashStruct(base, row + (Platform.getLong(base, at) >>> Integer.SIZE), seed);
    }
    return switch (type) {
      case BOOLEAN -> Murmur3_x86_32.hashInt(Platform.getByte(base, at) == 0 ? 0 : 1, seed);
      case BYTE -> hashWhole(Platform.getByte(base, at), seed);
      case SHORT -> hashWhole(Platform.getShort(base, at), seed);
      case INT -> hashWhole(Platform.getInt(base, at), seed);
      case LONG -> Murmur3_x86_32.hashLong(Platform.getLong(base, at), seed);
      case FLOAT -> Murmur3_x86_32.hashInt(bits(Platform.getFloat(base, at)), seed);
      case DOUBLE -> Murmur3_x86_32.hashLong(bits(Platform.getDouble(base, at)), seed);
      // Spark hashes the bytes of a long decimal's unscaled value, which are those in the row.
      case BYTES, LONG_DECIMAL -> hashBytes(base, row, Platform.getLong(base, at), seed);
    };
  }

  /** A struct lies in the row as a row of its own. */
  private int hashStruct(Object base, long struct, int seed) {
    long fields = struct + UnsafeRow.calculateBitSetWidthInBytes(structFields.length);
    int hash = seed;
    for (HashColumn field : structFields) {
      hash = field.hash(base, struct, fields, hash);
    }
    return hash;
  }

  private int hashWhole(int value, int seed) {
    return asLong ? Murmur3_x86_32.hashLong(value, seed) : Murmur3_x86_32.hashInt(value, seed);
  }

  /** Zeros are one value, NaNs too. */
  private static int bits(float value) {
    return value == 0 ? 0 : Float.floatToIntBits(value);
  }

  private static long bits(double value) {
    return value == 0 ? 0 : Double.doubleToLongBits(value);
  }

  private static int hashBytes(Object base, long row, long offsetAndLength, int seed) {
    return Murmur3_x86_32.hashUnsafeBytes(
        base, row + (offsetAndLength >>> Integer.SIZE), (int) offsetAndLength, seed);
  }
}
