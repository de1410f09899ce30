package io.sluice.systemtests;

import org.junit.jupiter.api.Tag;

/** Damage to blocks that come from another executor as well. */
@Tag("deep")
@Tag("UCX")
class DamagedRemoteOutputsTest extends DamagedOutputs {
  DamagedRemoteOutputsTest() {
    super(SparkApplication.CLUSTER);
  }
}
