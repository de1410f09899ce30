package io.sluice.bench.report;

import io.sluice.bench.protocol.JobTimes;
import io.sluice.bench.protocol.TaskTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.PriorityQueue;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/**
 * How long a program would take if parts of its shuffles cost nothing: its tasks are scheduled again, each as much
 * shorter as the part took, on as many slots as there were. Stages that did not overlap still wait for each other, and
 * time without any task stays. Where all processes share the processors of one machine, those can do no more work in a
 * second than there are of them: a stage takes at least the CPU time of its tasks, and of all other threads of driver
 * and executors (compiler, collector, network) while its tasks ran, divided by the processors.
 *
 * @param wallS what it took
 * @param busyS the part of it in which tasks ran
 * @param taskCpuS on processors, by tasks
 * @param processCpuS on processors while tasks ran, by all threads of driver and executors; 0 if it is not known
 * @param freeBytesS without waiting for blocks and without writing them to files
 * @param freeNetworkS without waiting for blocks
 * @param freeShuffleS without any work of the shuffle
 */
public record JobPotential(double wallS, double busyS, double freeBytesS, double freeNetworkS, double freeShuffleS,
    double taskCpuS, double processCpuS, int tasks, int failedTasks) {

  /**
   * @param processors of the machine that all executors share; 0 if they have their own
   * @throws IllegalArgumentException if the program ran no task
   */
  public static JobPotential of(JobTimes times, int processors) {
    if (times.tasks().isEmpty()) {
      throw new IllegalArgumentException("the program ran no task to its end, so there is nothing to predict from");
    }
    List<List<TaskTime>> groups = groups(times.tasks());
    double busy = groups.stream().mapToDouble(JobPotential::wall).sum();
    return new JobPotential(times.wallS(), busy,
        predict(times, groups, processors, task -> task.fetchWaitS() + task.writeS()),
        predict(times, groups, processors, TaskTime::fetchWaitS),
        predict(times, groups, processors, TaskTime::shuffleS),
        times.tasks().stream().mapToDouble(TaskTime::cpuS).sum(),
        groups.stream().mapToDouble(group -> processCpu(times, group)).sum(), times.tasks().size(),
        times.failedTasks());
  }

  /** In sentences, for people. */
  public String render() {
    return String.format(Locale.ROOT, """
        The program took %.1f s from its first Spark job to the end of its last; in %.1f s of them tasks ran (%,d%s).

          if moved and written bytes cost nothing  %8.1f s  (%.1f s less: no waiting for blocks, no writing of files)
          if the network cost nothing              %8.1f s  (%.1f s less: no waiting for blocks)
          if the shuffle cost nothing              %8.1f s  (%.1f s less: nothing sorted, encoded, moved or decoded)

        Predicted by scheduling the program's tasks again without these times, on Spark's own shuffle.""",
        wallS, busyS, tasks, failedTasks == 0 ? "" : ", and " + failedTasks + " failed, which are left out",
        freeBytesS, wallS - freeBytesS, freeNetworkS, wallS - freeNetworkS, freeShuffleS, wallS - freeShuffleS);
  }

  private static double predict(JobTimes times, List<List<TaskTime>> groups, int processors,
      ToDoubleFunction<TaskTime> saved) {
    double total = times.wallS();
    for (List<TaskTime> group : groups) {
      double before = makespan(group, times.slots(), task -> 0);
      double after = makespan(group, times.slots(), saved);
      double wall = wall(group);
      double scheduled = wall * Math.min(1, after / before);
      total -= wall - Math.min(wall, Math.max(scheduled, least(times, group, processors, saved)));
    }
    return total;
  }

  /** Seconds that the processors need for what is left of these tasks, and for what other threads did meanwhile. */
  private static double least(JobTimes times, List<TaskTime> group, int processors, ToDoubleFunction<TaskTime> saved) {
    if (processors == 0) {
      return 0;
    }
    double tasks = group.stream().mapToDouble(TaskTime::cpuS).sum();
    double left = group.stream().mapToDouble(task -> Math.min(task.cpuS(), left(task, saved))).sum();
    double others = Math.max(0, processCpu(times, group) - tasks);
    return (left + others) / processors;
  }

  private static double processCpu(JobTimes times, List<TaskTime> group) {
    return times.cpuS(begin(group), end(group));
  }

  /** The tasks of stages that overlap in time, in groups that do not; each in the order of launches. */
  static List<List<TaskTime>> groups(List<TaskTime> tasks) {
    List<List<TaskTime>> stages = new ArrayList<>(tasks.stream().collect(
        Collectors.groupingBy(TaskTime::stage)).values());
    stages.sort(Comparator.comparingLong(JobPotential::begin));
    List<List<TaskTime>> groups = new ArrayList<>();
    for (List<TaskTime> stage : stages) {
      if (!groups.isEmpty() && begin(stage) < end(groups.get(groups.size() - 1))) {
        groups.get(groups.size() - 1).addAll(stage);
      } else {
        groups.add(new ArrayList<>(stage));
      }
    }
    groups.forEach(group -> group.sort(Comparator.comparingLong(TaskTime::launchMs)));
    return groups;
  }

  /** Seconds until all tasks are done, when each takes the first slot that is free. */
  private static double makespan(List<TaskTime> tasks, int slots, ToDoubleFunction<TaskTime> saved) {
    PriorityQueue<Double> free = new PriorityQueue<>();
    for (int slot = 0; slot < Math.max(1, slots); slot++) {
      free.add(0.0);
    }
    double end = 0;
    for (TaskTime task : tasks) {
      double done = free.remove() + left(task, saved);
      free.add(done);
      end = Math.max(end, done);
    }
    return Math.max(end, 1e-3);
  }

  private static double left(TaskTime task, ToDoubleFunction<TaskTime> saved) {
    return Math.max(0, task.durationS() - saved.applyAsDouble(task));
  }

  private static double wall(List<TaskTime> group) {
    return (end(group) - begin(group)) / 1e3;
  }

  private static long begin(List<TaskTime> tasks) {
    return tasks.stream().mapToLong(TaskTime::launchMs).min().orElseThrow();
  }

  private static long end(List<TaskTime> tasks) {
    return tasks.stream().mapToLong(TaskTime::finishMs).max().orElseThrow();
  }
}
