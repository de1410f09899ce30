package io.sluice.bench.driver;

import io.sluice.bench.protocol.JobTimes;
import io.sluice.bench.protocol.Json;
import io.sluice.bench.protocol.TaskTime;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** Brings what {@link TimedShuffle} measures to the driver, which writes a program's {@link JobTimes} when it ends. */
public final class TimedShufflePlugin implements SparkPlugin {

  /** Setting: the file that the driver writes. */
  public static final String FILE = "spark.sluicebench.timesFile";

  /** Of this executor; null before Spark has made its plugins. */
  private static volatile PluginContext executor;

  /** Tells the driver how long a task of this executor spent in shuffles. */
  static void send(long task, long nanos) {
    PluginContext context = executor;
    if (context == null) {
      return;
    }
    try {
      context.send(new long[] {task, nanos});
    } catch (IOException e) {
      throw new UncheckedIOException("the driver does not hear of a task's shuffles", e);
    }
  }

  @Override
  public DriverPlugin driverPlugin() {
    return new Driver();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new ExecutorPlugin() {
      @Override
      public void init(PluginContext context, Map<String, String> extra) {
        executor = context;
      }
    };
  }

  /** A task that has ended, before it is known how long it spent in shuffles. */
  private record Ended(long id, int stage, long launchMs, long finishMs, TaskMetrics metrics) {}

  /** Called by Spark's listener thread and those of its endpoints; synchronized. */
  private static final class Driver extends SparkListener implements DriverPlugin {
    private final Map<Long, Long> shuffleNanos = new HashMap<>();
    private final List<Ended> ended = new ArrayList<>();
    private final Map<String, Integer> cores = new HashMap<>();
    private SparkContext context;
    private ProcessCpu cpu;
    private Path file;
    private int slots;
    private int failed;
    private long startMs;
    private long endMs;

    @Override
    public Map<String, String> init(SparkContext spark, PluginContext plugin) {
      file = Path.of(plugin.conf().get(FILE));
      context = spark;
      cpu = ProcessCpu.start();
      cpu.add(Stream.of(ProcessHandle.current()));
      spark.addSparkListener(this);
      return Map.of();
    }

    @Override
    public synchronized Object receive(Object message) {
      long[] time = (long[]) message;
      shuffleNanos.put(time[0], time[1]);
      return null;
    }

    @Override
    public synchronized void onExecutorAdded(SparkListenerExecutorAdded event) {
      cores.put(event.executorId(), event.executorInfo().totalCores());
      slots = Math.max(slots, cores.values().stream().mapToInt(Integer::intValue).sum());
      cpu.add(new ExecutorCpu(context.master(), context.applicationId()).processes());
    }

    @Override
    public synchronized void onExecutorRemoved(SparkListenerExecutorRemoved event) {
      cores.remove(event.executorId());
    }

    @Override
    public synchronized void onJobStart(SparkListenerJobStart event) {
      startMs = startMs == 0 ? event.time() : startMs;
    }

    @Override
    public synchronized void onJobEnd(SparkListenerJobEnd event) {
      endMs = event.time();
    }

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd event) {
      if (event.taskInfo().successful() && event.taskMetrics() != null) {
        ended.add(new Ended(event.taskInfo().taskId(), event.stageId(), event.taskInfo().launchTime(),
            event.taskInfo().finishTime(), event.taskMetrics()));
      } else {
        failed++;
      }
    }

    /** Which of the two comes last differs between lines of Spark; the later one knows more. */
    @Override
    public void onApplicationEnd(SparkListenerApplicationEnd event) {
      write();
    }

    @Override
    public void shutdown() {
      write();
    }

    private synchronized void write() {
      cpu.close();
      List<TaskTime> tasks = ended.stream().map(this::time).toList();
      try {
        Files.writeString(file, Json.line(new JobTimes(startMs, endMs, slots, failed, tasks, cpu.readings())));
      } catch (IOException e) {
        throw new UncheckedIOException("the times of the program cannot be written", e);
      }
    }

    private TaskTime time(Ended task) {
      TaskMetrics metrics = task.metrics();
      return new TaskTime(task.stage(), task.launchMs(), task.finishMs(), metrics.executorCpuTime() / 1e9,
          metrics.shuffleReadMetrics().fetchWaitTime() / 1e3, metrics.shuffleWriteMetrics().writeTime() / 1e9,
          shuffleNanos.getOrDefault(task.id(), 0L) / 1e9);
    }
  }
}
