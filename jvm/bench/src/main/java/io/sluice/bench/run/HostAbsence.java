package io.sluice.bench.run;

import io.sluice.bench.protocol.Reply;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Cuts one host of a {@link Cluster} off in the middle of a run and connects it again some seconds later.
 *
 * <p>The same run without that goes before: it teaches how many tasks there are. The host goes when a tenth of the
 * tasks have ended from the last stage of several tasks on, so while blocks are read, whatever the engine; a stage of
 * one task may only add up. Used by one thread.
 */
public final class HostAbsence {

  private static final int PART_OF_THE_LAST_STAGE = 10;
  /** For the commands that change the link. */
  private static final long COMMANDS_MS = TimeUnit.SECONDS.toMillis(60);

  /** Changes the host's link to {@code up} or {@code down}. */
  interface Plug {
    void change(String state);
  }

  private final Hosts.AwayHost away;
  private final Plug plug;
  /** Ended tasks at which the host goes, by what runs. */
  private final Map<String, Long> begins = new HashMap<>();
  /** That of the run that goes on, or of the last one. */
  private volatile Cut current;

  HostAbsence(Hosts.AwayHost away, Plug plug) {
    this.away = away;
    this.plug = plug;
  }

  /**
   * Does {@code run} with the host there all the time, and learns when it has to go.
   *
   * @param what names the run; {@link #during} knows it by that
   * @param run gets a consumer of progress, which passes it on to {@code progress}
   */
  public <T> T before(String what, Consumer<Reply> progress, Function<Consumer<Reply>, T> run) {
    LastStage stage = new LastStage();
    T result = run.apply(reply -> {
      stage.hear(reply);
      progress.accept(reply);
    });
    begins.put(what, stage.tenth());
    return result;
  }

  /**
   * Does {@code run} with the host away for some time.
   *
   * @throws EngineFailure if the run ended before the host went, because its figures would be those of a run without
   * @throws IllegalStateException if the run called {@code what} was never done before, or the link cannot be changed
   */
  public <T> T during(String what, Consumer<Reply> progress, Function<Consumer<Reply>, T> run) {
    if (!begins.containsKey(what)) {
      throw new IllegalStateException(what + " did not run with all hosts before");
    }
    Cut cut = new Cut(begins.get(what));
    current = cut;
    T result;
    try (cut) {
      result = run.apply(reply -> {
        cut.hear(reply);
        progress.accept(reply);
      });
      cut.runEnded();
    }
    if (!cut.tookPart) {
      throw new EngineFailure(what + " ended before " + away.host() + " was cut off, after "
          + begins.get(what) + " tasks; it needs more --rows");
    }
    return result;
  }

  /** Whether the host of the run that goes on, or of the last one, has been cut off. Any thread. */
  boolean wasAway() {
    Cut cut = current;
    return cut != null && cut.wasAway;
  }

  /** Where the last stage of several tasks begins, by what is heard of a run's tasks. */
  private static final class LastStage {
    private long first;
    private long known;

    void hear(Reply reply) {
      if (reply.tasksKnown() > known + 1) {
        first = known;
      }
      known = Math.max(known, reply.tasksKnown());
    }

    long tenth() {
      return first + Math.max(1, (known - first) / PART_OF_THE_LAST_STAGE);
    }
  }

  /** One absence, on a thread of its own from when so many tasks have ended. */
  private final class Cut implements AutoCloseable {
    private final long tasks;
    private final CountDownLatch ended = new CountDownLatch(1);
    private Thread thread;
    private boolean tookPart;
    private volatile boolean wasAway;
    private volatile RuntimeException failure;

    Cut(long tasks) {
      this.tasks = tasks;
    }

    void hear(Reply reply) {
      if (thread == null && reply.tasksDone() >= tasks) {
        thread = new Thread(this::run, "host-away");
        thread.start();
      }
    }

    private void run() {
      try {
        plug.change("down");
        wasAway = true;
        // A run that ends sooner does not wait for the rest.
        ended.await(away.seconds(), TimeUnit.SECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (RuntimeException e) {
        failure = e;
      } finally {
        comeBack();
      }
    }

    private void comeBack() {
      try {
        plug.change("up");
      } catch (RuntimeException e) {
        failure = e;
      }
    }

    void runEnded() {
      tookPart = wasAway;
    }

    /** The host is there again afterwards. */
    @Override
    public void close() {
      ended.countDown();
      if (thread != null) {
        join();
      }
      if (failure != null) {
        throw failure;
      }
    }

    private void join() {
      try {
        thread.join(COMMANDS_MS);
        if (thread.isAlive()) {
          failure = new IllegalStateException("the link of " + away.host() + " could not be changed in time");
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        failure = new IllegalStateException("interrupted while " + away.host() + " was to come back", e);
      }
    }
  }
}
