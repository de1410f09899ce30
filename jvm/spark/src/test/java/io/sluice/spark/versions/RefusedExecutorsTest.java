package io.sluice.spark.versions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.junit.jupiter.api.Test;
import scala.collection.immutable.Nil$;

class RefusedExecutorsTest {
  private final List<String> cancelled = new ArrayList<>();
  private final AtomicInteger count = new AtomicInteger();
  private final RefusedExecutors refused = new RefusedExecutors(
      (job, reason) -> cancelled.add(job + " " + reason), count::incrementAndGet, Set.of("io.sluice.Plugin"));

  private void comesAndIsRefused(String id) {
    refused.onExecutorAdded(new SparkListenerExecutorAdded(0, id, null));
    refused.refused(new Refusal(id, "Executor " + id + " is refused."));
    refused.onExecutorRemoved(new SparkListenerExecutorRemoved(0, id, "Executor " + id + " is refused."));
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private void jobStarts(int id) {
    refused.onJobStart(new SparkListenerJobStart(id, 0, (scala.collection.immutable.Seq) Nil$.MODULE$, null));
  }

  @Test
  void whileOthersWorkJobsGoOn() {
    refused.onExecutorAdded(new SparkListenerExecutorAdded(0, "0", null));
    jobStarts(1);
    for (int i = 1; i < 10; i++) {
      comesAndIsRefused("" + i);
    }
    assertEquals(List.of(), cancelled);
    assertEquals(9, count.get());
  }

  @Test
  void whenThreeWereRefusedAndNoneIsLeftRunningJobsEnd() {
    jobStarts(1);
    jobStarts(2);
    refused.onJobEnd(new SparkListenerJobEnd(1, 0, null));
    comesAndIsRefused("0");
    comesAndIsRefused("1");
    assertEquals(List.of(), cancelled);
    comesAndIsRefused("2");
    assertEquals(List.of("2 because no executor is left. Executor 2 is refused."), cancelled);
    jobStarts(3);
    comesAndIsRefused("3");
    assertEquals("3 because no executor is left. Executor 3 is refused.", cancelled.get(1));
  }

  /** The scheduler's events may be delivered after the executor's message. */
  @Test
  void eventsAfterTheMessage() {
    jobStarts(1);
    for (String id : List.of("0", "1", "2")) {
      refused.refused(new Refusal(id, id));
    }
    assertEquals(1, cancelled.size());
    refused.onExecutorAdded(new SparkListenerExecutorAdded(0, "2", null));
    jobStarts(2);
    refused.refused(new Refusal("3", "3"));
    assertEquals(2, cancelled.size());
  }

  @Test
  void oneMessageOrTwoCountOnce() {
    refused.refused(new Refusal("0", "a"));
    refused.refused(new Refusal("0", "a"));
    assertEquals(1, count.get());
  }

  @Test
  void anExecutorWithoutThePluginIsRefusedToo() {
    jobStarts(1);
    for (String id : List.of("0", "1", "2")) {
      refused.onExecutorRemoved(
          new SparkListenerExecutorRemoved(0, id, "Unable to create executor due to io.sluice.Plugin"));
    }
    refused.onExecutorRemoved(new SparkListenerExecutorRemoved(0, "3", "Command exited with code 137"));
    assertEquals(3, count.get());
    assertTrue(cancelled.get(0).contains("Executor 2 is refused: it has no Sluice"), cancelled::toString);
  }
}
