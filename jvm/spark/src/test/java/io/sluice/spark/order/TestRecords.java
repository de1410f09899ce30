package io.sluice.spark.order;

import io.sluice.spark.memory.HeapQuota;
import io.sluice.spark.record.RecordEncoder;
import io.sluice.spark.record.RecordIterator;
import io.sluice.spark.record.SerializedRecords;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** Records as objects, and as the rows that a map task writes of them. */
final class TestRecords {
  /** A key that has no shape. */
  record Point(int x) implements Serializable {}

  private final List<Tuple2<Object, Object>> records;

  private TestRecords(List<Tuple2<Object, Object>> records) {
    this.records = records;
  }

  static TestRecords of(int count, IntFunction<Object> keys, IntFunction<Object> values) {
    List<Tuple2<Object, Object>> records = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      records.add(new Tuple2<>(keys.apply(i), values.apply(i)));
    }
    return new TestRecords(records);
  }

  List<Object> distinctKeys() {
    return records.stream().map(Tuple2::_1).distinct().toList();
  }

  /** As {@code CombinedRecords} and Spark want them. */
  <T> Iterator<Product2<Object, Object>> objects() {
    return new AbstractIterator<>() {
      private int next;

      @Override
      public boolean hasNext() {
        return next < records.size();
      }

      @Override
      public Product2<Object, Object> next() {
        return records.get(next++);
      }
    };
  }

  /** Each record a row, from the first without a shape on serialized. */
  Rows rows(TaskContext context) {
    RecordEncoder encoder = new RecordEncoder();
    List<byte[]> rows = new ArrayList<>();
    SerializedRecords serialized = new SerializedRecords(
        SparkEnv.get().serializer(), true, 1, new HeapQuota(context.taskMemoryManager()));
    boolean shapes = true;
    try {
      for (Tuple2<Object, Object> record : records) {
        shapes = shapes && encoder.encode(record._1(), record._2());
        if (shapes) {
          rows.add(Arrays.copyOf(encoder.buffer(), encoder.length()));
        } else {
          serialized.add(0, record._1(), record._2());
        }
      }
      serialized.drain(encoder, (partition, count) -> rows.add(Arrays.copyOf(encoder.buffer(), encoder.length())));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    serialized.close();
    return new Rows(rows);
  }

  /** One row and one pair, whose memory the next row overwrites, as a reader's. */
  static final class Rows extends AbstractIterator<Product2<Object, UnsafeRow>> {
    private final List<byte[]> rows;
    private final byte[] memory = new byte[1 << 23];
    private final UnsafeRow row = new UnsafeRow(5);
    private final Tuple2<Object, UnsafeRow> pair = new Tuple2<>(0, row);
    private int next;

    private Rows(List<byte[]> rows) {
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      return next < rows.size();
    }

    @Override
    public Product2<Object, UnsafeRow> next() {
      byte[] bytes = rows.get(next++);
      Arrays.fill(memory, 0, Math.max(row.getSizeInBytes(), 64), (byte) 0x5A);
      System.arraycopy(bytes, 0, memory, 8, bytes.length);
      row.pointTo(memory, Platform.BYTE_ARRAY_OFFSET + 8, bytes.length);
      return pair;
    }

    RecordIterator<Object, Object> records(TaskContext context) {
      return new RecordIterator<>(this, SparkEnv.get().serializer(),
          context.taskMetrics().createTempShuffleReadMetrics());
    }
  }
}
