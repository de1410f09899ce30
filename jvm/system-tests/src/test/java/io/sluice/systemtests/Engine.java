package io.sluice.systemtests;

import java.util.Set;

/** Which shuffle an application runs on. */
enum Engine {
  /** Spark's own sort shuffle: the reference for every result. */
  STOCK("org.apache.spark.shuffle.sort.SortShuffleManager"),
  /** The manager under test: Sluice, or the class named by {@code -Dsluice.manager}, to check the tests on stock. */
  UNDER_TEST(System.getProperty("sluice.manager", "io.sluice.spark.SluiceShuffleManager"));

  private static final String SLUICE = "io.sluice.spark.SluiceShuffleManager";

  private final String managerClass;

  Engine(String managerClass) {
    this.managerClass = managerClass;
  }

  /** The value of {@code spark.sluice.mode} that tests run with if they do not set another: {@code -Dsluice.mode}. */
  static String mode() {
    return System.getProperty("sluice.mode", "MULTITHREADED");
  }

  /** Whether shuffles without a reason to fall back are written in Sluice's format and counted by its counters. */
  static boolean writesFrames() {
    return UNDER_TEST.isSluice() && !mode().equals("RDMA");
  }

  /** Whether that mode reads other executors' blocks one-sidedly. */
  static boolean readsOneSidedly() {
    return UNDER_TEST.isSluice() && Set.of("UCX", "RDMA").contains(mode());
  }

  String managerClass() {
    return managerClass;
  }

  /** Whether the engine is Sluice, so that its settings, counters and native memory exist. */
  boolean isSluice() {
    return managerClass.equals(SLUICE);
  }
}
