package io.sluice.spark.record;

import java.math.MathContext;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Date;
import java.util.List;
import java.util.UUID;
import org.apache.spark.unsafe.Platform;

/** Numbers, dates and times, and other classes that are made of few numbers. */
final class ScalarForms {
  private ScalarForms() {}

  /** How an object's numbers are written. */
  private interface Write<T> {
    boolean to(NestedWriter out, T value);
  }

  /** How they are read, and the object made. */
  private interface Read<T> {
    T from(NestedReader in);
  }

  static List<NestedForm> all() {
    return List.of(
        new Scalar<>(NestedTag.SCALA_BIG_DECIMAL, scala.math.BigDecimal.class, ScalarForms::writeDecimal,
            in -> decimal(in.bigDecimal((int) in.in().signed())), decimal(new java.math.BigDecimal("-12345.678"))),
        new Scalar<>(NestedTag.UUID, UUID.class, (out, id) -> out.word(id.getMostSignificantBits())
            && out.word(id.getLeastSignificantBits()), in -> new UUID(word(in), word(in)), new UUID(-1L << 40, 5)),
        new Scalar<>(NestedTag.LOCAL_DATE_TIME, LocalDateTime.class,
            (out, time) -> out.signed(time.toLocalDate().toEpochDay()) && out.number(time.toLocalTime().toNanoOfDay()),
            in -> LocalDateTime.of(LocalDate.ofEpochDay(in.in().signed()), LocalTime.ofNanoOfDay(in.in().number())),
            LocalDateTime.of(1969, 12, 31, 23, 59, 58, 1_000_001)),
        new Scalar<>(NestedTag.LOCAL_TIME, LocalTime.class, (out, time) -> out.number(time.toNanoOfDay()),
            in -> LocalTime.ofNanoOfDay(in.in().number()), LocalTime.of(23, 59, 58, 1_000_001)),
        new Scalar<>(NestedTag.DURATION, Duration.class,
            (out, time) -> out.signed(time.getSeconds()) && out.number(time.getNano()),
            in -> duration(in.in().signed(), in.in().number()), Duration.ofSeconds(-1, 1_000_001)),
        new Scalar<>(NestedTag.JAVA_DATE, Date.class, (out, date) -> out.signed(date.getTime()),
            in -> new Date(in.in().signed()), new Date(-86_400_001)));
  }

  /** One of another precision is left to the serializer: Kryo's gives it back with the usual one. */
  private static boolean writeDecimal(NestedWriter out, scala.math.BigDecimal number) {
    java.math.BigDecimal value = number.bigDecimal();
    return number.mc().equals(MathContext.DECIMAL128) && value.precision() <= MathContext.DECIMAL128.getPrecision()
        && out.signed(value.scale()) && out.body(value.unscaledValue().toByteArray());
  }

  private static scala.math.BigDecimal decimal(java.math.BigDecimal value) {
    return new scala.math.BigDecimal(value, MathContext.DECIMAL128);
  }

  private static Duration duration(long seconds, long nanos) {
    if (nanos < 0 || nanos >= 1_000_000_000) {
      throw NestedInput.damaged("has " + nanos + " nanoseconds");
    }
    return Duration.ofSeconds(seconds, nanos);
  }

  private static long word(NestedReader in) {
    return Platform.getLong(in.in().base(), in.in().take(Long.BYTES));
  }

  /** One class. */
  private static final class Scalar<T> extends NestedForm {
    private final Class<T> type;
    private final Write<T> write;
    private final Read<T> read;
    private final T sample;

    Scalar(int tag, Class<T> type, Write<T> write, Read<T> read, T sample) {
      super(tag, List.of(type));
      this.type = type;
      this.write = write;
      this.read = read;
      this.sample = sample;
    }

    @Override
    boolean write(NestedWriter out, Object value, int depth) {
      return write.to(out, type.cast(value));
    }

    @Override
    Object read(NestedReader in, int depth) {
      return read.from(in);
    }

    @Override
    Object sample(Class<?> same) {
      return sample;
    }

    @Override
    boolean hasIdentity(Object value) {
      return tag() == NestedTag.JAVA_DATE;
    }

    @Override
    boolean hasValues() {
      return false;
    }
  }
}
