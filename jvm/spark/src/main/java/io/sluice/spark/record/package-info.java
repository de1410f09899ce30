/**
 * Records of RDD shuffles in the layout of SQL rows, so that pages, frames and memory are handled as for SQL's own
 * rows.
 *
 * <p>A record is an {@code UnsafeRow}: a bitset word (always 0), a word with the types of the record's parts (its
 * {@linkplain io.sluice.spark.record.RecordShape shape}), one word per part, and the variable-length bytes.
 * {@link io.sluice.spark.record.RecordEncoder} writes it, {@link io.sluice.spark.record.RecordDecoder} creates
 * the objects again, without a serializer; parts of nested types are bytes that
 * {@link io.sluice.spark.record.NestedTag} describes. Records of other types go through the shuffle's own serializer,
 * many records to a row ({@link io.sluice.spark.record.SerializedRecords}); with a serializer that is not Spark's
 * every record does ({@link io.sluice.spark.record.SerializerChoice}).
 *
 * <p>Invariants: a decoded record equals the encoded one and has its classes; a partition's records keep their
 * order. Keys can be compared and told apart as they lie in their rows ({@link io.sluice.spark.record.RowKey}, {@link
 * io.sluice.spark.record.RowKeyTable}). Deliberately absent: sorting and combining, which use these.
 */
package io.sluice.spark.record;
