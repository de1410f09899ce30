package io.sluice.bench.protocol;

/**
 * CPU of the executor processes while one stage ran, by what their threads do, as the operating system counts it.
 *
 * @param name Spark's name of the stage
 * @param writes whether it wrote a shuffle
 * @param rows that it wrote to the shuffle or, if it wrote none, read from one; 0 without a shuffle
 * @param taskS seconds of the task threads, outside the kernel, like all down to {@code otherS}
 * @param encoderS of Sluice's encoder threads
 * @param decoderS of Sluice's decoder threads
 * @param jitS of the JIT compilers' threads
 * @param gcS of the garbage collector's threads
 * @param otherS of all other threads: network, heartbeats, the JVM's own
 * @param kernelS of all threads, in the kernel
 * @param waitS seconds that tasks ran without their threads being on a processor: waiting for a core, blocks or files
 */
public record StageCosts(String name, boolean writes, long rows, double taskS, double encoderS, double decoderS,
    double jitS, double gcS, double otherS, double kernelS, double waitS) {}
