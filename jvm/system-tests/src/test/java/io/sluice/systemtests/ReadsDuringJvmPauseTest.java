package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeTransport;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * While the owner's JVM is paused, its blocks can still be read: its native thread answers with their locations and
 * takes part in the reads. By Spark's block transfer no block would arrive before the pause ends.
 */
@Tag("once")
class ReadsDuringJvmPauseTest {
  private static final int BLOCKS = 64;
  private static final int BLOCK_BYTES = 64 * 1024;
  private static final long PEER = 7;
  private static final long MIN_PAUSE_MILLIS = 200;
  private static final int POLL_MILLIS = 1000;

  @TempDir Path folder;

  @Test
  void blocksAreReadWhileTheOwnersJvmIsPaused() throws Exception {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "the stock manager has no transport");
    String obstacle = OneSidedTransportTest.whyNoUcx();
    assumeTrue(obstacle == null, () -> "UCX cannot be opened here: " + obstacle);
    byte[] data = new byte[BLOCKS * BLOCK_BYTES];
    for (int i = 0; i < data.length; i++) {
      data[i] = (byte) (i * 31 + i / BLOCK_BYTES);
    }
    Path file = Files.write(folder.resolve("data"), data);
    Path log = folder.resolve("owner.log");
    try (Program owner = Program.start(owner(file, log), log)) {
      long reader = PausingBlockServer.start();
      try {
        readDuringAPause(owner, reader, data);
      } finally {
        NativeTransport.stop(reader);
      }
    }
  }

  private ProcessBuilder owner(Path data, Path log) {
    return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx1g", "-cp",
        System.getProperty("java.class.path"), PausingBlockServer.class.getName(), data.toString(),
        Integer.toString(BLOCK_BYTES), folder.resolve("heap.hprof").toString()).redirectError(log.toFile());
  }

  private static void readDuringAPause(Program owner, long reader, byte[] data) throws Exception {
    NativeTransport.connect(reader, PEER, Base64.getDecoder().decode(owner.await(PausingBlockServer.ADDRESS)));
    List<long[]> reads = new ArrayList<>();
    AtomicBoolean over = new AtomicBoolean();
    Thread reading = new Thread(() -> {
      for (int i = 0; !over.get(); i++) {
        reads.add(read(reader, i % BLOCKS, data));
      }
    });
    reading.start();
    owner.goOn();
    String[] pause = owner.await(PausingBlockServer.PAUSE).split(" ");
    over.set(true);
    reading.join();
    long from = Long.parseLong(pause[0]);
    long to = Long.parseLong(pause[1]);
    assertTrue(to - from >= MIN_PAUSE_MILLIS, () -> "the pause took only " + (to - from) + " ms");
    assertTrue(reads.stream().allMatch(read -> read[2] == 1), "every block is read, and is right");
    long within = reads.stream().filter(read -> read[0] > from && read[1] < to).count();
    assertTrue(within >= 10,
        () -> within + " of " + reads.size() + " reads lie within the pause of " + (to - from) + " ms");
    owner.goOn();
    owner.awaitEnd();
  }

  /** Reads one block: when it began and ended, in milliseconds, and 1 if the bytes are right. */
  private static long[] read(long reader, int block, byte[] data) {
    long start = System.currentTimeMillis();
    long request = NativeTransport.fetch(reader, PEER, new long[] {0, 0, block, block + 1});
    long[] completion = new long[NativeTransport.COMPLETION_LONGS];
    boolean right = request > 0 && await(reader, completion) && completion[2] == 0 && completion[4] == BLOCK_BYTES;
    if (right) {
      byte[] bytes = new byte[BLOCK_BYTES];
      Platform.copyMemory(null, completion[3], bytes, Platform.BYTE_ARRAY_OFFSET, BLOCK_BYTES);
      assertEquals(0, NativeTransport.release(completion[3]));
      right = Arrays.equals(bytes, 0, BLOCK_BYTES, data, block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES);
    }
    return new long[] {start, System.currentTimeMillis(), right ? 1 : 0};
  }

  private static boolean await(long reader, long[] completion) {
    int count = 0;
    for (int i = 0; i < 30 && count == 0; i++) {
      count = NativeTransport.poll(reader, completion, POLL_MILLIS);
    }
    return count == 1;
  }
}
