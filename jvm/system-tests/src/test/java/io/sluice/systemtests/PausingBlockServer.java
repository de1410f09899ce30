package io.sluice.systemtests;

import com.sun.management.HotSpotDiagnosticMXBean;
import io.sluice.nativebridge.BundledUcx;
import io.sluice.nativebridge.NativeException;
import io.sluice.nativebridge.NativeLibrary;
import io.sluice.nativebridge.NativeTransport;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;

/**
 * A process whose map output others read while its JVM is paused: the dump of a heap stops all Java threads at a
 * safepoint, as a long garbage collection does. Arguments: the data file, the bytes of each partition, the file for the
 * dump.
 */
final class PausingBlockServer {
  static final String ADDRESS = "address ";
  static final String PAUSE = "pause ";
  private static final int OBJECTS = 3_000_000;

  private PausingBlockServer() {}

  public static void main(String[] arguments) throws Exception {
    Path data = Path.of(arguments[0]);
    long distance = Long.parseLong(arguments[1]);
    long transport = start();
    long[] offsets = new long[(int) (Files.size(data) / distance) + 1];
    for (int i = 0; i < offsets.length; i++) {
      offsets[i] = i * distance;
    }
    NativeException.check(NativeTransport.publish(transport, 0, 0, data.toString(), "", offsets));
    System.out.println(ADDRESS + Base64.getEncoder().encodeToString(NativeTransport.address(transport)));
    Map<Integer, String> heap = new HashMap<>();
    for (int i = 0; i < OBJECTS; i++) {
      heap.put(i, "object " + i);
    }
    try (StandstillWatch watch = StandstillWatch.start()) {
      // Waits for the line of input after which it pauses.
      System.in.read();
      ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(arguments[2], true);
      Span pause = watch.longest();
      System.out.println(PAUSE + pause.from() + " " + pause.to() + " " + heap.size());
    }
    System.in.read();
    NativeTransport.stop(transport);
  }

  static long start() throws Exception {
    NativeLibrary.Status library = NativeLibrary.load("");
    if (!library.available()) {
      throw new IllegalStateException(library.detail());
    }
    try (BundledUcx bundled = BundledUcx.unpack()) {
      return NativeException.check(
          NativeTransport.start("", bundled.folder(), new byte[0], 20_000, 1L << 30, 2L << 30, 16_384, 1024));
    }
  }
}
