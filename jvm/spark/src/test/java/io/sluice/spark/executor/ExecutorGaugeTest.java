package io.sluice.spark.executor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A gauge whose source fails must not look like a gauge at 0. */
class ExecutorGaugeTest {
  private final List<String> warnings = new ArrayList<>();
  private final Logger logger = (Logger) LogManager.getLogger(ExecutorGauge.class);
  private final AbstractAppender appender = new AbstractAppender("gauge-test", null, null, false,
      Property.EMPTY_ARRAY) {
    @Override
    public void append(LogEvent event) {
      if (event.getLevel() == Level.WARN) {
        warnings.add(event.getMessage().getFormattedMessage());
      }
    }
  };

  @BeforeEach
  void capture() {
    appender.start();
    logger.addAppender(appender);
  }

  @AfterEach
  void stopCapture() {
    logger.removeAppender(appender);
  }

  private static long fail() {
    throw new IllegalStateException("on purpose");
  }

  @Test
  void valueIsThatOfTheSource() {
    assertEquals(7L, ExecutorGauge.GETS_IN_FLIGHT.valueOrNaN(() -> 7));
    assertEquals(List.of(), warnings);
  }

  @Test
  void afterAFailureTheValueIsNaNAndTheFirstFailureIsLogged() {
    ExecutorGauge gauge = ExecutorGauge.MALFORMED_MESSAGES;
    assertEquals(Double.NaN, gauge.valueOrNaN(ExecutorGaugeTest::fail));
    assertEquals(Double.NaN, gauge.valueOrNaN(ExecutorGaugeTest::fail));
    assertEquals(1, warnings.size(), warnings::toString);
    assertTrue(warnings.get(0).contains(gauge.id()), warnings::toString);
    assertEquals(3L, gauge.valueOrNaN(() -> 3), "it recovers");
  }
}
