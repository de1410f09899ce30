package io.sluice.spark.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class WorkerPoolTest {
  @Test
  void acceptsATaskOnlyWhileAThreadIsIdle() throws Exception {
    try (WorkerPool pool = new WorkerPool("test-worker", 2)) {
      CountDownLatch hold = new CountDownLatch(1);
      Future<Boolean> first = pool.trySubmit(() -> {
        hold.await();
        return true;
      });
      Future<Boolean> second = pool.trySubmit(() -> {
        hold.await();
        return true;
      });
      assertNotNull(first);
      assertNotNull(second);
      assertNull(pool.trySubmit(() -> true));
      hold.countDown();
      assertTrue(first.get());
      assertTrue(second.get());
      assertTrue(pool.trySubmit(() -> Thread.currentThread().getName().startsWith("test-worker-")).get());
    }
  }

  @Test
  void aTaskThatThrowsLeavesItsThreadIdle() throws Exception {
    try (WorkerPool pool = new WorkerPool("test-worker", 1)) {
      for (int i = 0; i < 10; i++) {
        Future<Object> failing = pool.trySubmit(() -> {
          throw new IllegalStateException("on purpose");
        });
        ExecutionException failure = assertThrows(ExecutionException.class, failing::get);
        assertEquals("on purpose", failure.getCause().getMessage());
      }
    }
  }

  @Test
  void aPoolWithoutThreadsOrClosedRefusesTasks() {
    try (WorkerPool none = new WorkerPool("test-worker", 0)) {
      assertNull(none.trySubmit(() -> true));
    }
    WorkerPool closed = new WorkerPool("test-worker", 1);
    closed.close();
    assertNull(closed.trySubmit(() -> true));
  }
}
