package io.sluice.bench.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;
import scala.collection.AbstractIterator;

class JobMainTest {

  @Test
  void statementsEndWithASemicolonAtTheEndOfALine() {
    assertEquals(List.of("SET a=b", "SELECT ';' AS x,\n  1", "SELECT 2"),
        JobMain.statements("-- a comment;\nSET a=b;\nSELECT ';' AS x,\n  1 ; \n\n;\nSELECT 2"));
  }

  @Test
  void everyCallOfATimedIteratorIsTimed() {
    LongAdder nanos = new LongAdder();
    TimedShuffle.Timed<String> timed = new TimedShuffle.Timed<>(new AbstractIterator<>() {
      private int left = 2;

      @Override
      public boolean hasNext() {
        pause();
        return left > 0;
      }

      @Override
      public String next() {
        pause();
        left--;
        return "row";
      }
    }, nanos);
    int rows = 0;
    while (timed.hasNext()) {
      timed.next();
      rows++;
    }
    assertEquals(2, rows);
    // Five calls of at least two milliseconds.
    assertEquals(true, nanos.sum() >= 10_000_000, nanos.toString());
  }

  private static void pause() {
    try {
      Thread.sleep(2);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
