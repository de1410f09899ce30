package io.sluice.java8;

import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Collections;
import java.util.stream.Stream;

/** For {@link NetworkInterface}. */
public final class JavaNetNetworkInterface {
  private JavaNetNetworkInterface() {}

  public static Stream<NetworkInterface> networkInterfaces() throws SocketException {
    return Collections.list(NetworkInterface.getNetworkInterfaces()).stream();
  }
}
