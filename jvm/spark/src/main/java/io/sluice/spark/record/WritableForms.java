package io.sluice.spark.record;

import java.util.List;
import java.util.function.LongFunction;
import java.util.function.ToLongFunction;
import org.apache.hadoop.io.ByteWritable;
import org.apache.hadoop.io.ShortWritable;
import org.apache.hadoop.io.VIntWritable;
import org.apache.hadoop.io.VLongWritable;

/** More of Hadoop's types that are a whole number. */
final class WritableForms {
  private WritableForms() {}

  static List<NestedForm> all() {
    return List.of(
        new OfNumber<>(NestedTag.V_INT_WRITABLE, VIntWritable.class, VIntWritable::get,
            number -> new VIntWritable((int) number)),
        new OfNumber<>(NestedTag.V_LONG_WRITABLE, VLongWritable.class, VLongWritable::get, VLongWritable::new),
        new OfNumber<>(NestedTag.SHORT_WRITABLE, ShortWritable.class, ShortWritable::get,
            number -> new ShortWritable((short) number)),
        new OfNumber<>(NestedTag.BYTE_WRITABLE, ByteWritable.class, ByteWritable::get,
            number -> new ByteWritable((byte) number)));
  }

  private static final class OfNumber<T> extends NestedForm {
    private static final int SAMPLE = -3;

    private final Class<T> type;
    private final ToLongFunction<T> number;
    private final LongFunction<T> make;

    OfNumber(int tag, Class<T> type, ToLongFunction<T> number, LongFunction<T> make) {
      super(tag, List.of(type));
      this.type = type;
      this.number = number;
      this.make = make;
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      return out.signed(number.applyAsLong(type.cast(value)));
    }

    @Override
    Object read(NestedReader in, int depth) {
      return make.apply(in.in().signed());
    }

    @Override
    Object sample(Class<?> same) {
      return make.apply(SAMPLE);
    }

    @Override
    boolean hasValues() {
      return false;
    }

    @Override
    boolean isSerializable() {
      return false;
    }
  }
}
