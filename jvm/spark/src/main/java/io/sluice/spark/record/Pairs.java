package io.sluice.spark.record;

import java.util.List;
import scala.Tuple2;

/**
 * Scala's pairs, and their specialized subclasses: one for each two of {@code int}, {@code long}, {@code double},
 * {@code char} and {@code boolean}.
 */
final class Pairs {
  private Pairs() {}

  /** Whether {@code object} is a pair that can be made again by {@link #make}; its parts may still be unknown. */
  static boolean isPair(Object object) {
    return object != null && (object.getClass() == Tuple2.class || isSpecialized(object));
  }

  /** Whether {@code object} is of one of the specialized classes. */
  static boolean isSpecialized(Object object) {
    Class<?> type = object.getClass();
    return type.getSuperclass() == Tuple2.class && type == specializedClass((Tuple2<?, ?>) object);
  }

  /** A pair of a specialized class. */
  static Tuple2<?, ?> sample(Class<?> type) {
    List<Object> parts = List.of(1, 2L, 0.5, 'c', true);
    return parts.stream()
        .flatMap(first -> parts.stream().map(second -> of(first, second)))
        .filter(pair -> pair.getClass() == type).findFirst().orElseThrow();
  }

  private static Class<?> specializedClass(Tuple2<?, ?> pair) {
    Tuple2<?, ?> same = of(pair._1(), pair._2());
    return same == null ? null : same.getClass();
  }

  /** The specialized pair of two values that were read. */
  static Tuple2<?, ?> make(Object first, Object second) {
    Tuple2<?, ?> pair = of(first, second);
    if (pair == null) {
      throw NestedInput.damaged("has a specialized pair of other classes");
    }
    return pair;
  }

  /** The specialized pair of two values; {@code null} when there is no such class for their types. */
  private static Tuple2<?, ?> of(Object first, Object second) {
    int secondCode = PartType.of(second);
    return switch (PartType.of(first)) {
      case PartType.INTEGER -> ofInt((Integer) first, second, secondCode);
      case PartType.LONG -> ofLong((Long) first, second, secondCode);
      case PartType.DOUBLE -> ofDouble((Double) first, second, secondCode);
      case PartType.CHARACTER -> ofChar((Character) first, second, secondCode);
      case PartType.BOOLEAN -> ofBoolean((Boolean) first, second, secondCode);
      default -> null;
    };
  }

  private static Tuple2<?, ?> ofInt(int first, Object second, int code) {
    return switch (code) {
      case PartType.INTEGER -> new scala.Tuple2$mcII$sp(first, (Integer) second);
      case PartType.LONG -> new scala.Tuple2$mcIJ$sp(first, (Long) second);
      case PartType.DOUBLE -> new scala.Tuple2$mcID$sp(first, (Double) second);
      case PartType.CHARACTER -> new scala.Tuple2$mcIC$sp(first, (Character) second);
      case PartType.BOOLEAN -> new scala.Tuple2$mcIZ$sp(first, (Boolean) second);
      default -> null;
    };
  }

  private static Tuple2<?, ?> ofLong(long first, Object second, int code) {
    return switch (code) {
      case PartType.INTEGER -> new scala.Tuple2$mcJI$sp(first, (Integer) second);
      case PartType.LONG -> new scala.Tuple2$mcJJ$sp(first, (Long) second);
      case PartType.DOUBLE -> new scala.Tuple2$mcJD$sp(first, (Double) second);
      case PartType.CHARACTER -> new scala.Tuple2$mcJC$sp(first, (Character) second);
      case PartType.BOOLEAN -> new scala.Tuple2$mcJZ$sp(first, (Boolean) second);
      default -> null;
    };
  }

  private static Tuple2<?, ?> ofDouble(double first, Object second, int code) {
    return switch (code) {
      case PartType.INTEGER -> new scala.Tuple2$mcDI$sp(first, (Integer) second);
      case PartType.LONG -> new scala.Tuple2$mcDJ$sp(first, (Long) second);
      case PartType.DOUBLE -> new scala.Tuple2$mcDD$sp(first, (Double) second);
      case PartType.CHARACTER -> new scala.Tuple2$mcDC$sp(first, (Character) second);
      case PartType.BOOLEAN -> new scala.Tuple2$mcDZ$sp(first, (Boolean) second);
      default -> null;
    };
  }

  private static Tuple2<?, ?> ofChar(char first, Object second, int code) {
    return switch (code) {
      case PartType.INTEGER -> new scala.Tuple2$mcCI$sp(first, (Integer) second);
      case PartType.LONG -> new scala.Tuple2$mcCJ$sp(first, (Long) second);
      case PartType.DOUBLE -> new scala.Tuple2$mcCD$sp(first, (Double) second);
      case PartType.CHARACTER -> new scala.Tuple2$mcCC$sp(first, (Character) second);
      case PartType.BOOLEAN -> new scala.Tuple2$mcCZ$sp(first, (Boolean) second);
      default -> null;
    };
  }

  private static Tuple2<?, ?> ofBoolean(boolean first, Object second, int code) {
    return switch (code) {
      case PartType.INTEGER -> new scala.Tuple2$mcZI$sp(first, (Integer) second);
      case PartType.LONG -> new scala.Tuple2$mcZJ$sp(first, (Long) second);
      case PartType.DOUBLE -> new scala.Tuple2$mcZD$sp(first, (Double) second);
      case PartType.CHARACTER -> new scala.Tuple2$mcZC$sp(first, (Character) second);
      case PartType.BOOLEAN -> new scala.Tuple2$mcZZ$sp(first, (Boolean) second);
      default -> null;
    };
  }
}
