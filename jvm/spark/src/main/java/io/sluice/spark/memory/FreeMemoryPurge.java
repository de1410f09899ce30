package io.sluice.spark.memory;

import io.sluice.nativebridge.Arena;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives free native memory back to the operating system. The arena keeps memory that was freed, and purges what was not
 * used for a while only when something is freed; so an executor without tasks, or whose tasks compute, would keep what
 * the last burst took.
 *
 * <p>While tasks have memory a thread looks once a second, and the arena gives back what it has not used for 5 to 10 s.
 * When no task has had any for {@link #IDLE_LOOKS} seconds all free memory is given back and the thread waits for the
 * next task: between two stages of a job memory is kept. Any thread.
 */
final class FreeMemoryPurge implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(FreeMemoryPurge.class);
  private static final long LOOK_MILLIS = 1000;
  private static final int IDLE_LOOKS = 3;

  private final Arena arena;
  private final BooleanSupplier inUse;
  private final ScheduledThreadPoolExecutor timer;
  /** Whether the thread looks, or is about to. */
  private final AtomicBoolean looking = new AtomicBoolean();
  /** Whether a task has begun since the last look: short ones come and end between two looks. */
  private volatile boolean used;
  /** Used by the thread only. */
  private int idleLooks;

  /** @param inUse whether any task has an account now */
  FreeMemoryPurge(Arena arena, BooleanSupplier inUse) {
    this.arena = arena;
    this.inUse = inUse;
    this.timer = new ScheduledThreadPoolExecutor(1, work -> {
      Thread thread = new Thread(work, "sluice-free-memory");
      thread.setDaemon(true);
      return thread;
    });
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  /** A task has begun to use memory. */
  void memoryIsUsed() {
    used = true;
    if (!looking.get() && looking.compareAndSet(false, true)) {
      lookLater();
    }
  }

  private void lookLater() {
    try {
      timer.schedule(this::look, LOOK_MILLIS, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException closed) {
      LOG.debug("the executor is being stopped; its native memory goes with the process");
    }
  }

  private void look() {
    boolean done = false;
    try {
      done = giveBack();
    } catch (RuntimeException e) {
      LOG.warn("Free native memory could not be given back to the operating system; tried again later", e);
    }
    if (!done) {
      lookLater();
      return;
    }
    idleLooks = 0;
    looking.set(false);
    if (used || inUse.getAsBoolean()) {
      memoryIsUsed();
    }
  }

  /** Whether no memory is in use and all that was free has been given back. */
  private boolean giveBack() {
    boolean busy = used || inUse.getAsBoolean();
    used = false;
    idleLooks = busy ? 0 : idleLooks + 1;
    boolean idle = idleLooks >= IDLE_LOOKS;
    long given = arena.purge(idle);
    if (given > 0) {
      LOG.debug("Sluice memory: no task uses any, {} MiB were given back to the operating system", given >> 20);
    }
    // What threads still hold that outlive their task is given back when they have freed it.
    return idle && arena.leasedBytes() == 0;
  }

  @Override
  public void close() {
    timer.shutdown();
  }
}
