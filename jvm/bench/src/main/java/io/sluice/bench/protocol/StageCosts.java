package io.sluice.bench.protocol;

/**
 * CPU of the executor processes while one stage ran, by what their threads do, and what its tasks waited for.
 *
 * @param name Spark's name of the stage
 * @param writes whether it wrote a shuffle
 * @param rows that it wrote to the shuffle or, if it wrote none, read from one; 0 without a shuffle
 * @param taskS seconds of the task threads, in the kernel too, like all down to {@code otherS}; without what they spent
 *     in Sluice's native code, which is in the next three
 * @param encoderS of encoding, by encoder threads and by task threads
 * @param decoderS of decoding, by decoder threads and by task threads
 * @param commitS of writing data files by Sluice's native code, on task threads
 * @param jitS of the JIT compilers' threads
 * @param gcS of the garbage collector's threads
 * @param otherS of all other threads: network, heartbeats, the JVM's own
 * @param kernelS the part of all these that was spent in the kernel
 * @param waitS seconds that tasks ran without their threads being on a core; contains the next three
 * @param waitCoreS the part in which a task could have run but other threads had the cores; null where the kernel does
 *     not tell
 * @param waitFetchS the part in which Spark says that tasks waited for blocks
 * @param waitGcS the part in which the garbage collector had stopped tasks
 */
public record StageCosts(String name, boolean writes, long rows, double taskS, double encoderS, double decoderS,
    double commitS, double jitS, double gcS, double otherS, double kernelS, double waitS, Double waitCoreS,
    double waitFetchS, double waitGcS) {

  /** With seconds of task threads moved to the work that they did in Sluice's native code. */
  public StageCosts withInTask(double encodeS, double decodeS, double commitInTaskS) {
    return new StageCosts(name, writes, rows, Math.max(0, taskS - encodeS - decodeS - commitInTaskS),
        encoderS + encodeS, decoderS + decodeS, commitS + commitInTaskS, jitS, gcS, otherS, kernelS, waitS, waitCoreS,
        waitFetchS, waitGcS);
  }

  /** All CPU. */
  public double cpuS() {
    return taskS + encoderS + decoderS + commitS + jitS + gcS + otherS;
  }

  /** The rest of the waiting: for locks, disks, other threads and whatever else; null where it is not known. */
  public Double waitOtherS() {
    return waitCoreS == null ? null : (Double) Math.max(0, waitS - waitCoreS - waitFetchS - waitGcS);
  }
}
