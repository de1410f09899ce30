package io.sluice.spark.executor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.ArenaFigures;
import io.sluice.nativebridge.TransportStatistics;
import io.sluice.spark.CapturedWarnings;
import java.lang.reflect.Constructor;
import java.lang.reflect.RecordComponent;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A gauge whose source fails must not look like a gauge at 0. */
class ExecutorGaugeTest {
  private final CapturedWarnings warnings = CapturedWarnings.of(ExecutorGauge.class);

  @AfterEach
  void stopCapture() {
    warnings.close();
  }

  private static long fail() {
    throw new IllegalStateException("on purpose");
  }

  /** Each component of the native core's figures is the value of one gauge: a new one without a gauge fails this. */
  @Test
  void everyFigureOfTheTransportAndTheArenaHasAGauge() throws ReflectiveOperationException {
    TransportStatistics transport = numbered(TransportStatistics.class);
    ArenaFigures arena = numbered(ArenaFigures.class);
    assertEquals(numbers(TransportStatistics.class),
        shown(gauge -> gauge.of(transport)));
    assertEquals(numbers(ArenaFigures.class), shown(gauge -> gauge.of(arena)));
  }

  /** Whose components are 1, 2, 3 and so on. */
  private static <R extends Record> R numbered(Class<R> type) throws ReflectiveOperationException {
    RecordComponent[] components = type.getRecordComponents();
    Class<?>[] types = Stream.of(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
    Object[] values = numbers(type).toArray();
    Constructor<R> constructor = type.getDeclaredConstructor(types);
    return constructor.newInstance(values);
  }

  private static List<Long> numbers(Class<? extends Record> type) {
    return LongStream.rangeClosed(1, type.getRecordComponents().length).boxed().toList();
  }

  private static List<Long> shown(Function<ExecutorGauge, OptionalLong> value) {
    return Stream.of(ExecutorGauge.values()).map(value).filter(OptionalLong::isPresent).map(OptionalLong::getAsLong)
        .sorted().toList();
  }

  @Test
  void valueIsThatOfTheSource() {
    assertEquals(7L, ExecutorGauge.GETS_IN_FLIGHT.valueOrNaN(() -> 7));
    assertEquals(List.of(), warnings.texts());
  }

  @Test
  void afterAFailureTheValueIsNaNAndTheFirstFailureIsLogged() {
    ExecutorGauge gauge = ExecutorGauge.MALFORMED_MESSAGES;
    assertEquals(Double.NaN, gauge.valueOrNaN(ExecutorGaugeTest::fail));
    assertEquals(Double.NaN, gauge.valueOrNaN(ExecutorGaugeTest::fail));
    assertEquals(1, warnings.texts().size(), () -> warnings.texts().toString());
    assertTrue(warnings.texts().get(0).contains(gauge.id()), () -> warnings.texts().toString());
    assertEquals(3L, gauge.valueOrNaN(() -> 3), "it recovers");
  }
}
