package org.apache.celeborn.service.deploy.worker;

import io.sluice.bench.run.StubServer;

/** Stands in for Celeborn's in tests. */
public final class Worker {

  private Worker() {}

  /** Prints what it was started with, then that it is ready, and stays. */
  public static void main(String[] arguments) throws Exception {
    StubServer.stay(arguments, "Register worker successfully.");
  }
}
