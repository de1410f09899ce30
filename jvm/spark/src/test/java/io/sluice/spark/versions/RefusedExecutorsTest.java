package io.sluice.spark.versions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.junit.jupiter.api.Test;
import scala.collection.immutable.Nil$;

class RefusedExecutorsTest {
  private final List<String> cancelled = new ArrayList<>();
  private long seconds;
  private final AtomicInteger count = new AtomicInteger();
  private final RefusedExecutors refused = new RefusedExecutors(
      (job, reason) -> cancelled.add(job + " " + reason), count::incrementAndGet, Set.of("io.sluice.Plugin"),
      () -> TimeUnit.SECONDS.toNanos(seconds));

  private void comesAndIsRefused(String id) {
    seconds += 30;
    refused.refused(new Refusal(id, "Executor " + id + " is refused."));
    refused.onExecutorRemoved(new SparkListenerExecutorRemoved(0, id, "Executor " + id + " is refused."));
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private void jobStarts(int id) {
    refused.onJobStart(new SparkListenerJobStart(id, 0, (scala.collection.immutable.Seq) Nil$.MODULE$, null));
  }

  @Test
  void whileOthersWorkJobsGoOn() {
    refused.admitted("0");
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

  /** As when nodes with the right jar start more slowly than those with another. */
  @Test
  void jobsGetAMinuteAndAnAdmittedExecutorGivesThemAnother() {
    jobStarts(1);
    for (String id : List.of("0", "1", "2", "3")) {
      seconds += 10;
      refused.refused(new Refusal(id, id));
    }
    assertEquals(List.of(), cancelled, "for 30 seconds");
    refused.admitted("4");
    refused.onExecutorRemoved(new SparkListenerExecutorRemoved(0, "4", "idle"));
    seconds += 3_600;
    refused.refused(new Refusal("5", "5"));
    assertEquals(List.of(), cancelled, "the first since an admitted one was there");
    comesAndIsRefused("6");
    assertEquals(List.of(), cancelled);
    comesAndIsRefused("7");
    assertEquals(1, cancelled.size());
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
      seconds += 30;
      refused.onExecutorRemoved(
          new SparkListenerExecutorRemoved(0, id, "Unable to create executor due to io.sluice.Plugin"));
    }
    refused.onExecutorRemoved(new SparkListenerExecutorRemoved(0, "3", "Command exited with code 137"));
    assertEquals(3, count.get());
    assertTrue(cancelled.get(0).contains("Executor 2 is refused: it has no Sluice"), cancelled::toString);
  }
}
