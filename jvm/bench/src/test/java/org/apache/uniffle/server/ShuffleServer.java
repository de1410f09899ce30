package org.apache.uniffle.server;

import io.sluice.bench.run.StubServer;

/** Stands in for Uniffle's in tests. */
public final class ShuffleServer {

  private ShuffleServer() {}

  /** Prints what it was started with, then that it is ready, and stays. */
  public static void main(String[] arguments) throws Exception {
    StubServer.stay(arguments, "Shuffle server start successfully!");
  }
}
