package io.sluice.systemtests;

/** Damage to blocks that come from another executor as well. */
class DamagedRemoteOutputsTest extends DamagedOutputs {
  DamagedRemoteOutputsTest() {
    super(SparkApplication.CLUSTER);
  }
}
