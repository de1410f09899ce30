package io.sluice.bench.soak;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** A program for {@link RoomTest}: sends a byte to itself again and again, and says how many milliseconds that took. */
final class RoomEchoes {

  private RoomEchoes() {}

  public static void main(String[] arguments) throws Exception {
    try (ServerSocketChannel server = ServerSocketChannel.open().bind(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        SocketChannel client = SocketChannel.open(server.getLocalAddress()); SocketChannel served = server.accept()) {
      Thread echo = new Thread(() -> echo(served));
      echo.setDaemon(true);
      echo.start();
      ByteBuffer one = ByteBuffer.allocate(1);
      while (!System.out.checkError()) {
        long before = System.nanoTime();
        client.write(one.clear());
        client.read(one.clear());
        System.out.println((System.nanoTime() - before) / 1_000_000);
        Thread.sleep(1);
      }
    }
  }

  /** By a selector, as Netty does it. */
  private static void echo(SocketChannel served) {
    try (Selector selector = Selector.open()) {
      served.configureBlocking(false);
      served.register(selector, SelectionKey.OP_READ);
      ByteBuffer one = ByteBuffer.allocate(1);
      while (true) {
        selector.select();
        selector.selectedKeys().clear();
        if (served.read(one.clear()) > 0) {
          served.write(one.flip());
        }
      }
    } catch (IOException e) {
      // The program has ended.
      return;
    }
  }
}
