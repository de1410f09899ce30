package io.sluice.doctor.perftest;

import io.sluice.nativebridge.NativeException;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UTFDataFormatException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** {@code perftest}: one process listens and is read, another connects and reads it. */
public final class PerfTest {
  private static final String PROTOCOL = "sluice-perftest-1";
  private static final int WORKS = 0;
  private static final int DOES_NOT_WORK = 1;
  private static final int WRONG_ARGUMENTS = 2;
  private static final int WINDOW = 16;
  private static final int LATENCY_READS = 200;

  private PerfTest() {}

  /** Returns the exit code. */
  public static int run(List<String> arguments, PrintStream out, PrintStream err) {
    PerfTestOptions options;
    try {
      options = PerfTestOptions.parse(arguments);
    } catch (IllegalArgumentException e) {
      err.println("error: " + e.getMessage() + " (--help shows what there is)");
      return WRONG_ARGUMENTS;
    }
    if (options.help()) {
      out.print(PerfTestOptions.HELP);
      return WORKS;
    }
    try (Endpoint endpoint = Endpoint.start(options.ucxLibrary())) {
      return options.connect() ? connect(options, endpoint, out) : listen(options, endpoint, out);
    } catch (IOException | NativeException e) {
      out.println("verdict: one-sided reads do not work: " + e.getMessage());
      out.println("  next: java -jar JAR doctor --mode UCX on both machines");
      return DOES_NOT_WORK;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return DOES_NOT_WORK;
    }
  }

  /** Lets others read, one after the other, until this process is ended. */
  private static int listen(PerfTestOptions options, Endpoint endpoint, PrintStream out) throws IOException {
    InetAddress at = options.host().isEmpty() ? null : InetAddress.getByName(options.host());
    try (BlockFile file = BlockFile.make(); ServerSocket server = new ServerSocket(options.port(), 8, at)) {
      endpoint.publish(file);
      out.println(endpoint.describe());
      out.println("listening at port " + server.getLocalPort() + "; on the other machine: java -jar JAR perftest "
          + "--connect " + InetAddress.getLocalHost().getHostName() + ":" + server.getLocalPort());
      while (true) {
        try (Socket reader = server.accept()) {
          serve(reader, endpoint);
        } catch (IOException e) {
          out.println("a reader has gone: " + e.getMessage());
        }
      }
    }
  }

  /** Tells a reader this process's address, and waits until it is done. */
  private static void serve(Socket reader, Endpoint endpoint) throws IOException {
    DataOutputStream to = new DataOutputStream(reader.getOutputStream());
    byte[] address = endpoint.address();
    to.writeUTF(PROTOCOL);
    to.writeInt(address.length);
    to.write(address);
    to.flush();
    while (reader.getInputStream().read() >= 0) {
      // It sends nothing; the end of its stream is its end.
    }
  }

  private static int connect(PerfTestOptions options, Endpoint endpoint, PrintStream out)
      throws IOException, InterruptedException {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(options.host(), options.port()), (int) Endpoint.TIMEOUT_MILLIS);
      socket.setSoTimeout((int) Endpoint.TIMEOUT_MILLIS);
      out.println(endpoint.describe());
      endpoint.connect(address(socket));
      checkBytes(endpoint);
      out.printf(Locale.ROOT, "every byte of %d blocks of 1 MiB is right%n", BlockFile.BLOCKS);
      double latencyMicros = latencyMicros(endpoint);
      double rate = bytesPerSecond(endpoint, options.seconds());
      boolean cma = endpoint.cmaBytes() > 0;
      out.printf(Locale.ROOT, "%.0f MB/s with %d blocks asked for at once; %.0f µs for a block alone%n", rate / 1e6,
          WINDOW, latencyMicros);
      out.println("verdict: one-sided reads work between these processes, by " + (cma ? "a system call (CMA): both are "
          + "on one machine" : "UCX over the network (UCX_LOG_LEVEL=info says over which transport)"));
      return WORKS;
    }
  }

  private static byte[] address(Socket socket) throws IOException {
    DataInputStream from = new DataInputStream(socket.getInputStream());
    try {
      if (!from.readUTF().equals(PROTOCOL)) {
        throw new IOException("what listens there is not perftest of this version");
      }
      int length = from.readInt();
      if (length <= 0 || length > 1 << 16) {
        throw new IOException("what listens there sends an address of " + length + " bytes");
      }
      byte[] address = new byte[length];
      from.readFully(address);
      return address;
    } catch (EOFException | UTFDataFormatException e) {
      throw new IOException("what listens there is not perftest", e);
    }
  }

  private static void checkBytes(Endpoint endpoint) throws IOException {
    byte[] read = new byte[BlockFile.BLOCK_BYTES];
    for (int block = 0; block < BlockFile.BLOCKS; block++) {
      endpoint.fetch(block);
      endpoint.await(read);
      if (!Arrays.equals(BlockFile.content(block), read)) {
        throw new IOException("block " + block + " has WRONG bytes; please report this");
      }
    }
  }

  private static double latencyMicros(Endpoint endpoint) throws IOException {
    long[] nanos = new long[LATENCY_READS];
    for (int read = 0; read < LATENCY_READS; read++) {
      long start = System.nanoTime();
      endpoint.fetch(read % BlockFile.BLOCKS);
      endpoint.await(null);
      nanos[read] = System.nanoTime() - start;
    }
    Arrays.sort(nanos);
    return nanos[LATENCY_READS / 2] / 1e3;
  }

  private static double bytesPerSecond(Endpoint endpoint, double seconds) throws IOException {
    long start = System.nanoTime();
    int asked = 0;
    int done = 0;
    while (System.nanoTime() - start < seconds * 1e9 || done < asked) {
      while (asked - done < WINDOW && System.nanoTime() - start < seconds * 1e9) {
        endpoint.fetch(asked++ % BlockFile.BLOCKS);
      }
      if (done < asked) {
        endpoint.await(null);
        done++;
      }
    }
    return (double) done * BlockFile.BLOCK_BYTES / ((System.nanoTime() - start) / 1e9);
  }
}
