package io.sluice.bench.scale;

/**
 * What a shuffle costs on one engine: seconds of CPU of executors (the driver's are named so), or bytes.
 *
 * @param name of the engine
 * @param mapRow a row in a map task, with all that the workload does to it there
 * @param mapBlock a block of a map output, whatever its size
 * @param reduceRow a row in a reduce task, likewise
 * @param reduceBlock a block in a reduce task
 * @param task start and end of a task
 * @param remoteByte a byte of a block that lies on another host, on both hosts together
 * @param remoteBlock such a block beside its bytes, on both hosts together
 * @param rowBytes shuffle bytes of a row
 * @param blockBytes shuffle bytes of a block beside those of its rows
 * @param driverTask CPU of the driver for a task
 * @param statusBytesOfABlock what the driver sends of a block's size to every host, where it sends one for each
 */
public record EngineCosts(String name, double mapRow, double mapBlock, double reduceRow, double reduceBlock,
    double task,
    double remoteByte, double remoteBlock, double rowBytes, double blockBytes, double driverTask,
    double statusBytesOfABlock) {

  /** The same frames, moved in another way. */
  public EngineCosts movedBy(String otherName, double otherRemoteByte, double otherRemoteBlock) {
    return new EngineCosts(otherName, mapRow, mapBlock, reduceRow, reduceBlock, task, otherRemoteByte, otherRemoteBlock,
        rowBytes, blockBytes, driverTask, statusBytesOfABlock);
  }
}
