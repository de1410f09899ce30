package org.apache.celeborn.service.deploy.master;

import io.sluice.bench.run.StubServer;

/** Stands in for Celeborn's in tests. */
public final class Master {

  private Master() {}

  /** Prints what it was started with, then that it is ready, and stays. */
  public static void main(String[] arguments) throws Exception {
    StubServer.stay(arguments, "Master started.");
  }
}
