package org.apache.uniffle.coordinator;

import io.sluice.bench.run.StubServer;

/** Stands in for Uniffle's in tests. */
public final class CoordinatorServer {

  private CoordinatorServer() {}

  /** Prints what it was started with, then that it is ready, and stays. */
  public static void main(String[] arguments) throws Exception {
    StubServer.stay(arguments, "Grpc server started. Newly registering node: server");
  }
}
