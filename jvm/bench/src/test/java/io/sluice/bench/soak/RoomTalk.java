package io.sluice.bench.soak;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** A program for {@link RoomTest}: a server and a client, which says what becomes of their connection. */
final class RoomTalk {

  private RoomTalk() {}

  public static void main(String[] arguments) throws IOException {
    try (ServerSocket server = new ServerSocket(0, 9, InetAddress.getLoopbackAddress());
        Socket client = new Socket(server.getInetAddress(), server.getLocalPort()); Socket served = server.accept()) {
      Thread strangers = new Thread(() -> welcome(server));
      strangers.setDaemon(true);
      strangers.start();
      System.out.println("connected");
      System.out.println(said(client));
    }
  }

  private static String said(Socket socket) {
    try {
      return socket.getInputStream().read() < 0 ? "closed" : "bytes";
    } catch (IOException e) {
      return "cut: " + e.getMessage();
    }
  }

  private static void welcome(ServerSocket server) {
    while (true) {
      try (Socket stranger = server.accept(); InputStream in = stranger.getInputStream()) {
        System.out.println(in.read() < 0 ? "a stranger left" : "a stranger");
      } catch (IOException e) {
        return;
      }
    }
  }
}
