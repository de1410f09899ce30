package io.sluice.bench.soak;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A program for {@link RoomTest}: two threads that wait for events again and again, one with the name of the thread
 * that reads one-sidedly, and a third one that says how often each has waited.
 */
final class RoomAgent {

  private RoomAgent() {}

  /** How often each thread has waited so far. */
  record Turns(long agent, long other) {

    static Turns parse(String line) {
      String[] parts = line.split(" ");
      return new Turns(Long.parseLong(parts[0]), Long.parseLong(parts[1]));
    }
  }

  public static void main(String[] arguments) throws Exception {
    AtomicLong agent = waiting("sluice-ucx");
    AtomicLong other = waiting("sluice-other");
    while (!System.out.checkError()) {
      System.out.println(agent.get() + " " + other.get());
      Thread.sleep(2);
    }
  }

  /** A socket that nobody connects to is awaited by poll. */
  private static AtomicLong waiting(String name) throws IOException {
    AtomicLong turns = new AtomicLong();
    ServerSocket nobody = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    nobody.setSoTimeout(5);
    Thread thread = new Thread(() -> {
      while (true) {
        try {
          nobody.accept().close();
        } catch (SocketTimeoutException e) {
          turns.incrementAndGet();
        } catch (IOException e) {
          return;
        }
      }
    }, name);
    thread.setDaemon(true);
    thread.start();
    return turns;
  }
}
