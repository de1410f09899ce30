package io.sluice.spark.record;

import scala.Tuple2;

/** Scala's pairs, and their specialized subclasses of {@code int}, {@code long} and {@code double}. */
final class Pairs {
  private Pairs() {}

  /** Whether {@code object} is a pair that can be made again by {@link #of}; its parts may still be unknown. */
  static boolean isPair(Object object) {
    return object != null && (object.getClass() == Tuple2.class || isSpecialized(object));
  }

  /** Whether {@code object} is of one of the specialized classes. */
  static boolean isSpecialized(Object object) {
    Class<?> type = object.getClass();
    return type.getSuperclass() == Tuple2.class && type == specializedClass((Tuple2<?, ?>) object);
  }

  private static Class<?> specializedClass(Tuple2<?, ?> pair) {
    int first = PartType.of(pair._1());
    int second = PartType.of(pair._2());
    return isNumber(first) && isNumber(second) ? of(pair._1(), first, pair._2(), second).getClass() : null;
  }

  private static boolean isNumber(int code) {
    return code == PartType.INTEGER || code == PartType.LONG || code == PartType.DOUBLE;
  }

  /** The specialized pair of two numbers; {@code null} when there is no such class for their types. */
  static Tuple2<?, ?> of(Object first, int firstCode, Object second, int secondCode) {
    return switch (firstCode) {
      case PartType.INTEGER -> ofInt((Integer) first, second, secondCode);
      case PartType.LONG -> ofLong((Long) first, second, secondCode);
      case PartType.DOUBLE -> ofDouble((Double) first, second, secondCode);
      default -> null;
    };
  }

  private static Tuple2<?, ?> ofInt(int first, Object second, int code) {
    return switch (code) {
      case PartType.INTEGER -> new scala.Tuple2$mcII$sp(first, (Integer) second);
      case PartType.LONG -> new scala.Tuple2$mcIJ$sp(first, (Long) second);
      case PartType.DOUBLE -> new scala.Tuple2$mcID$sp(first, (Double) second);
      default -> null;
    };
  }

  private static Tuple2<?, ?> ofLong(long first, Object second, int code) {
    return switch (code) {
      case PartType.INTEGER -> new scala.Tuple2$mcJI$sp(first, (Integer) second);
      case PartType.LONG -> new scala.Tuple2$mcJJ$sp(first, (Long) second);
      case PartType.DOUBLE -> new scala.Tuple2$mcJD$sp(first, (Double) second);
      default -> null;
    };
  }

  private static Tuple2<?, ?> ofDouble(double first, Object second, int code) {
    return switch (code) {
      case PartType.INTEGER -> new scala.Tuple2$mcDI$sp(first, (Integer) second);
      case PartType.LONG -> new scala.Tuple2$mcDJ$sp(first, (Long) second);
      case PartType.DOUBLE -> new scala.Tuple2$mcDD$sp(first, (Double) second);
      default -> null;
    };
  }
}
