package io.sluice.spark.metrics;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.Serializable;
import java.util.Arrays;

/**
 * How many bytes one field of the rows has in a shuffle's frames, by the encodings that the encoder chose for them.
 * Immutable.
 */
@JsonIgnoreProperties(ignoreUnknown = true)
@JsonAutoDetect(
    fieldVisibility = JsonAutoDetect.Visibility.ANY, getterVisibility = JsonAutoDetect.Visibility.NONE,
    isGetterVisibility = JsonAutoDetect.Visibility.NONE)
public final class ColumnBytes implements Serializable {
  private static final long serialVersionUID = 1L;
  /** {@link #field} of what is no field's: null bits, lengths, rows that are stored as they are, and small columns. */
  public static final int REST = -1;

  /** How bytes are stored; the first six are the column encodings of {@code docs/block-format.md}, in its order. */
  public enum Encoding {
    CONSTANT("one value"), REFERENCE("difference from a base"), DELTA("difference from the row before"), MASK(
        "bits that differ"),
    DICTIONARY("dictionary"), RAW("words as they are"), BYTES(
        "bytes as they are"),
    COMPRESSED("compressed bytes");

    private final String label;

    Encoding(String label) {
      this.label = label;
    }

    /** For people. */
    public String label() {
      return label;
    }
  }

  private static final int ENCODINGS = Encoding.values().length;

  private final int field;
  private final long rowBytes;
  private final long[] encoded;

  /**
   * @param field from 0, or {@link #REST}
   * @param rowBytes what the field has in rows
   * @param encoded bytes in frames, in the order of {@link Encoding}
   */
  @JsonCreator
  public ColumnBytes(@JsonProperty("field") int field, @JsonProperty("rowBytes") long rowBytes,
      @JsonProperty("encoded") long[] encoded) {
    this.field = field;
    this.rowBytes = rowBytes;
    this.encoded = encoded == null ? new long[ENCODINGS] : Arrays.copyOf(encoded, ENCODINGS);
  }

  /** From 0, or {@link #REST}. */
  public int field() {
    return field;
  }

  public long rowBytes() {
    return rowBytes;
  }

  public long encoded(Encoding encoding) {
    return encoded[encoding.ordinal()];
  }

  /** By all encodings. */
  public long encodedBytes() {
    return Arrays.stream(encoded).sum();
  }

  /** The numbers, in the order of {@link Encoding}. */
  public long[] toArray() {
    return encoded.clone();
  }

  /** This and another part of the same rows, under this one's field. */
  public ColumnBytes plus(ColumnBytes other) {
    long[] sum = encoded.clone();
    for (int i = 0; i < ENCODINGS; i++) {
      sum[i] += other.encoded[i];
    }
    return new ColumnBytes(field, rowBytes + other.rowBytes, sum);
  }
}
