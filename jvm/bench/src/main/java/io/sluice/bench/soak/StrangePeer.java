package io.sluice.bench.soak;

import java.io.IOException;
import java.io.OutputStream;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * A program that kills a process and takes its ports: it accepts connections, reads what is sent and answers nothing.
 * Arguments: the process, for how many seconds, and the ports.
 */
final class StrangePeer {

  /** As long as the killed process may have its ports. */
  private static final long BIND_MS = 5_000;
  private static final long POLL_MS = 2;
  private static final int QUEUED = 100;

  private StrangePeer() {}

  public static void main(String[] arguments) throws InterruptedException {
    ProcessHandle.of(Long.parseLong(arguments[0])).ifPresent(ProcessHandle::destroyForcibly);
    Arrays.stream(arguments).skip(2).forEach(port -> begin(() -> listen(Integer.parseInt(port))));
    Thread.sleep(TimeUnit.SECONDS.toMillis(Long.parseLong(arguments[1])));
  }

  private static void begin(Runnable work) {
    Thread thread = new Thread(work, "strange-peer");
    thread.setDaemon(true);
    thread.start();
  }

  private static void listen(int port) {
    try (ServerSocket server = bound(port)) {
      while (true) {
        Socket peer = server.accept();
        begin(() -> read(peer));
      }
    } catch (IOException | InterruptedException e) {
      System.err.println("port " + port + ": " + e);
    }
  }

  private static ServerSocket bound(int port) throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(BIND_MS);
    while (true) {
      try {
        return new ServerSocket(port, QUEUED, InetAddress.getLoopbackAddress());
      } catch (BindException e) {
        if (System.nanoTime() > end) {
          throw e;
        }
        Thread.sleep(POLL_MS);
      }
    }
  }

  private static void read(Socket peer) {
    try (peer) {
      peer.getInputStream().transferTo(OutputStream.nullOutputStream());
    } catch (IOException e) {
      // The peer has left.
      return;
    }
  }
}
