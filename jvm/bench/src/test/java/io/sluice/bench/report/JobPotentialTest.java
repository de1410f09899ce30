package io.sluice.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.protocol.CpuReading;
import io.sluice.bench.protocol.JobTimes;
import io.sluice.bench.protocol.TaskTime;
import java.util.List;
import org.junit.jupiter.api.Test;

class JobPotentialTest {

  private static final double EXACT = 1e-9;

  /** Two slots: maps of 4 s that write for 1 s, then reducers of 6 s and 4 s that wait for blocks for 3 s and 1 s. */
  private static final JobTimes JOB = new JobTimes(1_000, 13_000, 2, 0, List.of(
      new TaskTime(0, 2_000, 6_000, 2, 0, 1, 2), new TaskTime(0, 2_000, 6_000, 2, 0, 1, 2),
      new TaskTime(1, 6_000, 12_000, 2, 3, 0, 4), new TaskTime(1, 6_000, 10_000, 2, 1, 0, 2)), List.of());

  @Test
  void tasksAreScheduledAgainWithoutWhatTheyWouldSave() {
    JobPotential potential = JobPotential.of(JOB, 0);
    assertEquals(12, potential.wallS(), EXACT);
    assertEquals(10, potential.busyS(), EXACT);
    assertEquals(2 + 4 + 3, potential.freeNetworkS(), EXACT);
    assertEquals(2 + 3 + 3, potential.freeBytesS(), EXACT);
    assertEquals(2 + 2 + 2, potential.freeShuffleS(), EXACT);
  }

  @Test
  void processorsLimitWhatCanBeSaved() {
    // Maps: 4 s of processor time; reducers: 2 + 2. One processor needs 4 s for each stage.
    assertEquals(2 + 4 + 4, JobPotential.of(JOB, 1).freeNetworkS(), EXACT);
  }

  /** Maps: 6 s of the processes, 4 s of them tasks'; reducers: 10 s and 4 s. */
  @Test
  void otherThreadsNeedTheProcessorsToo() {
    JobTimes job = new JobTimes(JOB.startMs(), JOB.endMs(), JOB.slots(), 0, JOB.tasks(), List.of(
        new CpuReading(1_000, 0), new CpuReading(2_000, 5), new CpuReading(6_000, 11), new CpuReading(12_000, 21)));
    JobPotential shared = JobPotential.of(job, 2);
    assertEquals(8, shared.taskCpuS(), EXACT);
    assertEquals(16, shared.processCpuS(), EXACT);
    assertEquals(2 + 4 + 5, shared.freeNetworkS(), EXACT);
    // What the shuffle took of the tasks' time was waiting: each still needs its 2 s.
    assertEquals(2 + 3 + 5, shared.freeShuffleS(), EXACT);
    assertEquals(2 + 4 + 6, JobPotential.of(job, 1).freeNetworkS(), EXACT, "never longer than it took");
    assertEquals(2 + 4 + 3, JobPotential.of(job, 0).freeNetworkS(), EXACT, "executors have processors of their own");
  }

  @Test
  void cpuTimeOfAMomentLiesBetweenReadings() {
    JobTimes job = new JobTimes(0, 0, 1, 0, List.of(),
        List.of(new CpuReading(100, 0), new CpuReading(1_100, 2), new CpuReading(3_100, 3)));
    assertEquals(2.5 - 1, job.cpuS(600, 2_100), EXACT);
    assertEquals(2, job.cpuS(0, 1_100), EXACT);
    assertEquals(3 - 2.5, job.cpuS(2_100, 9_000), EXACT);
    assertEquals(0, JOB.cpuS(0, 9_000), EXACT, "nothing was read");
  }

  @Test
  void fasterTasksLeaveSlotsToOthers() {
    // One slot after another: three tasks on two slots, of which the first waited for 4 of its 6 s.
    JobTimes job = new JobTimes(0, 6_000, 2, 0, List.of(new TaskTime(0, 0, 6_000, 1, 4, 0, 4),
        new TaskTime(0, 0, 3_000, 1, 0, 0, 0), new TaskTime(0, 3_000, 6_000, 1, 0, 0, 0)), List.of());
    assertEquals(5, JobPotential.of(job, 0).freeNetworkS(), EXACT);
  }

  @Test
  void stagesThatOverlapAreScheduledTogether() {
    List<TaskTime> tasks = List.of(new TaskTime(7, 5_000, 6_000, 1, 0, 0, 0), new TaskTime(3, 0, 3_000, 1, 0, 0, 0),
        new TaskTime(4, 1_000, 4_000, 1, 0, 0, 0));
    assertEquals(List.of(2, 1), JobPotential.groups(tasks).stream().map(List::size).toList());
  }

  @Test
  void aProgramWithoutShufflesSavesNothing() {
    JobTimes job = new JobTimes(0, 5_000, 4, 2, List.of(new TaskTime(0, 1_000, 4_000, 3, 0, 0, 0)), List.of());
    JobPotential potential = JobPotential.of(job, 0);
    assertEquals(5, potential.freeShuffleS(), EXACT);
    assertTrue(potential.render().contains("and 2 failed, which are left out"), potential.render());
  }

  @Test
  void withoutTasksThereIsNothingToSay() {
    JobTimes none = new JobTimes(0, 0, 1, 0, List.of(), List.of());
    assertThrows(IllegalArgumentException.class, () -> JobPotential.of(none, 0));
  }
}
