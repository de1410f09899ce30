package io.sluice.spark.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.Await;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Option;

/** Pool threads work on cores that no task's thread occupies, and on no others. */
@Timeout(60)
class IdleCoresTest {
  private static TaskContextImpl start(IdleCores cores) {
    TaskContextImpl task = TaskContext$.MODULE$.empty();
    cores.taskStarted(task);
    return task;
  }

  private static int idle(IdleCores cores) {
    int idle = 0;
    while (cores.tryBorrow()) {
      idle++;
    }
    assertFalse(cores.isAny());
    for (int i = 0; i < idle; i++) {
      cores.giveBack();
    }
    return idle;
  }

  @Test
  void withoutThePluginAllTaskSlotsCountAsOccupied() {
    assertEquals(0, idle(new IdleCores(4, 4)));
    assertEquals(2, idle(new IdleCores(4, 2)), "spark.task.cpus is 2");
    assertThrows(IllegalStateException.class, () -> new IdleCores(4, 4).giveBack());
  }

  @Test
  void freeTaskSlotsAreIdleUntilTasksStart() {
    IdleCores cores = new IdleCores(3, 3);
    TaskContextImpl first = start(cores);
    assertEquals(2, idle(cores));
    TaskContextImpl second = start(cores);
    TaskContextImpl third = start(cores);
    assertEquals(0, idle(cores));
    second.markTaskCompleted(Option.empty());
    assertEquals(1, idle(cores));
    first.markTaskFailed(new IllegalStateException("on purpose"));
    first.markTaskCompleted(Option.empty());
    third.markTaskCompleted(Option.empty());
    assertEquals(3, idle(cores));
  }

  /** For the length of one piece of work, there are more threads at work than cores; no longer. */
  @Test
  void tasksDoNotWaitForLentCores() {
    IdleCores cores = new IdleCores(3, 3);
    TaskContextImpl first = start(cores);
    assertTrue(cores.tryBorrow() && cores.tryBorrow());
    TaskContextImpl second = start(cores);
    TaskContextImpl third = start(cores);
    assertFalse(cores.tryBorrow());
    cores.giveBack();
    assertFalse(cores.tryBorrow(), "three tasks and one lent core, of three");
    cores.giveBack();
    assertFalse(cores.tryBorrow(), "all three have a task");
    for (TaskContextImpl task : new TaskContextImpl[] {first, second, third}) {
      task.markTaskCompleted(Option.empty());
    }
    assertEquals(3, idle(cores));
  }

  /** Two pools share the cores. Work that is refused is the caller's. */
  @Test
  void poolsTakeWorkOnlyWhileACoreIsIdle() throws Exception {
    IdleCores cores = new IdleCores(3, 3);
    TaskContextImpl task = start(cores);
    CountDownLatch goOn = new CountDownLatch(1);
    try (WorkerPool encoders = new WorkerPool("test-encoder", 8, cores);
        WorkerPool decoders = new WorkerPool("test-decoder", 8, cores)) {
      Future<Boolean> first = encoders.trySubmit(() -> goOn.await(30, TimeUnit.SECONDS));
      Future<Boolean> second = decoders.trySubmit(() -> goOn.await(30, TimeUnit.SECONDS));
      assertNotNull(first);
      assertNotNull(second);
      assertFalse(encoders.hasIdle());
      assertNull(encoders.trySubmit(() -> true), "the third core is the task's");
      task.markTaskCompleted(Option.empty());
      assertTrue(decoders.hasIdle());
      goOn.countDown();
      assertTrue(first.get(30, TimeUnit.SECONDS) && second.get(30, TimeUnit.SECONDS));
      Await.until("the cores are given back", () -> idle(cores) == 3);
    }
    WorkerPool closed = new WorkerPool("test-encoder", 8, cores);
    closed.close();
    assertNull(closed.trySubmit(() -> true));
    assertEquals(3, idle(cores), "refused work has no core");
  }
}
