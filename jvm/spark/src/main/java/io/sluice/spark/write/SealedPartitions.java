package io.sluice.spark.write;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.seal.EndMark;
import io.sluice.spark.seal.OutputKeys;
import io.sluice.spark.seal.SealsDigest;
import java.io.IOException;
import java.io.OutputStream;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;

/**
 * Sealed frames on their way from the runs of a map task to its data file, partition by partition: makes the end marks,
 * which are bound to the frames' seals, and sees whether runs in files are still those that were written. One thread.
 */
final class SealedPartitions extends OutputStream {
  private final OutputKeys keys;
  /** Of the seals of each run's frames that have passed. */
  private final List<MessageDigest> digests = new ArrayList<>();
  private final byte[] header = new byte[FrameHeader.BYTES];
  private final byte[] seal = new byte[FrameHeader.SEAL_BYTES];
  private int headerBytes;
  private long payloadLeft;
  /** Of the partition that passes; null before its first byte. */
  private EndMark mark;
  private OutputStream out;
  private int partition;
  private MessageDigest digest;

  SealedPartitions(OutputKeys keys, int runs) {
    this.keys = keys;
    for (int run = 0; run < runs; run++) {
      digests.add(SealsDigest.start());
    }
  }

  /** What is written here goes to {@code target}: frames of {@code ofPartition}, from the run with this number. */
  OutputStream passTo(OutputStream target, int ofPartition, int run) {
    out = target;
    partition = ofPartition;
    digest = digests.get(run);
    return this;
  }

  @Override
  public void write(int single) throws IOException {
    write(new byte[] {(byte) single}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int count) throws IOException {
    out.write(bytes, offset, count);
    if (mark == null) {
      mark = keys.endMark(partition);
    }
    int passed = 0;
    while (passed < count) {
      passed += headerBytes < FrameHeader.BYTES
          ? header(bytes, offset + passed, count - passed)
          : payload(bytes, offset + passed, count - passed);
    }
  }

  private int header(byte[] bytes, int offset, int count) throws IOException {
    int taken = Math.min(count, FrameHeader.BYTES - headerBytes);
    System.arraycopy(bytes, offset, header, headerBytes, taken);
    headerBytes += taken;
    if (headerBytes == FrameHeader.BYTES) {
      try {
        FrameHeader parsed = FrameHeader.parse(header, 0);
        if (!parsed.isSealed()) {
          throw changed("a frame is not sealed", null);
        }
        payloadLeft = parsed.encodedBytes();
      } catch (CorruptFrameException e) {
        throw changed(e.getMessage(), e);
      }
    }
    return taken;
  }

  private int payload(byte[] bytes, int offset, int count) {
    int taken = (int) Math.min(count, payloadLeft);
    // The seal is the last bytes of the payload.
    int before = (int) Math.min(taken, Math.max(0, payloadLeft - FrameHeader.SEAL_BYTES));
    int at = (int) Math.max(0, FrameHeader.SEAL_BYTES - payloadLeft);
    System.arraycopy(bytes, offset + before, seal, at, taken - before);
    payloadLeft -= taken;
    if (payloadLeft == 0) {
      mark.add(seal);
      digest.update(seal);
      headerBytes = 0;
    }
    return taken;
  }

  /** Ends the partition, which had frames: bytes of its end mark. */
  long writeEndMark(OutputStream target) throws IOException {
    if (headerBytes > 0) {
      throw changed("the last frame of a partition is cut", null);
    }
    target.write(mark.finish(), 0, EndMark.BYTES);
    mark = null;
    return EndMark.BYTES;
  }

  /** Fails unless the frames of {@code runs}, all of which have passed, are those that were written. */
  void check(List<JavaRun> runs) throws IOException {
    for (int run = 0; run < runs.size(); run++) {
      if (!MessageDigest.isEqual(digests.get(run).digest(), runs.get(run).sealsDigest())) {
        throw changed("its frames are not those of the run", null);
      }
    }
  }

  private static SpillChangedException changed(String what, Throwable cause) {
    return new SpillChangedException("a spill of sealed frames was changed after it was written: " + what, cause);
  }
}
