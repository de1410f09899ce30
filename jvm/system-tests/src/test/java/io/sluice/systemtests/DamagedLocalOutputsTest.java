package io.sluice.systemtests;

import org.junit.jupiter.api.Tag;

/** Damage to blocks that a task reads from its own executor's files. */
@Tag("CACHE_ONLY")
class DamagedLocalOutputsTest extends DamagedOutputs {
  DamagedLocalOutputsTest() {
    super(SparkApplication.LOCAL);
  }
}
