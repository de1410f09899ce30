package io.sluice.systemtests;

/** Damage to blocks that a task reads from its own executor's files. */
class DamagedLocalOutputsTest extends DamagedOutputs {
  DamagedLocalOutputsTest() {
    super(SparkApplication.LOCAL);
  }
}
