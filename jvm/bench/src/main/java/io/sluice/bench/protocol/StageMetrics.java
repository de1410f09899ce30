package io.sluice.bench.protocol;

/**
 * What the tasks of one stage cost in one run, added up from Spark's task metrics.
 *
 * @param name Spark's name of the stage: the operation and where it was called
 * @param tasks task attempts that ended
 * @param runS seconds that tasks ran on executors; contains all other times
 * @param cpuS seconds of CPU time of the task threads
 * @param writeS seconds of writing map output, as Spark's own metric has them: blocked on files or buffers
 * @param fetchWaitS seconds of waiting for remote blocks
 * @param gcS seconds of garbage collection while tasks ran
 * @param shuffleWriteBytes bytes of map output
 * @param shuffleReadBytes bytes read from map output, local and remote
 * @param peakTaskMemoryBytes the most execution memory that one of its tasks had, as Spark's metric has it, in which
 *     Sluice counts its own memory outside the heap; 0 in results of before it was recorded
 */
public record StageMetrics(String name, long tasks, double runS, double cpuS, double writeS, double fetchWaitS,
    double gcS, long shuffleWriteBytes, long shuffleReadBytes, long peakTaskMemoryBytes) {

  /** Both together, with this one's name. */
  public StageMetrics plus(StageMetrics other) {
    return new StageMetrics(name, tasks + other.tasks, runS + other.runS, cpuS + other.cpuS, writeS + other.writeS,
        fetchWaitS + other.fetchWaitS, gcS + other.gcS, shuffleWriteBytes + other.shuffleWriteBytes,
        shuffleReadBytes + other.shuffleReadBytes,
        Math.max(peakTaskMemoryBytes, other.peakTaskMemoryBytes));
  }
}
