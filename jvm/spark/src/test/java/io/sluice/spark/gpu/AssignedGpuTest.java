package io.sluice.spark.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.apache.spark.resource.ResourceInformation;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The address of the GPU that an executor opens. */
class AssignedGpuTest {
  @AfterEach
  void forget() {
    AssignedGpu.executorHas(Map.of());
  }

  @Test
  void withoutResourcesThereIsNone() {
    assertEquals("", AssignedGpu.address(Map.of()));
    assertEquals("", AssignedGpu.address(Map.of("fpga", resource("fpga", "f1"))));
    assertEquals("", AssignedGpu.address(Map.of("gpu", resource("gpu"))));
  }

  @Test
  void theFirstOfTheTasksIsTaken() {
    AssignedGpu.executorHas(Map.of("gpu", resource("gpu", "0", "3")));
    assertEquals("3", AssignedGpu.address(Map.of("gpu", resource("gpu", "3", "0"))));
  }

  /** Tasks are told of none without {@code spark.task.resource.gpu.amount}. */
  @Test
  void theExecutorsIsTakenWhereItsTasksHaveNone() {
    AssignedGpu.executorHas(Map.of("gpu", resource("gpu", "GPU-1", "GPU-2")));
    assertEquals("GPU-1", AssignedGpu.address(Map.of()));
    AssignedGpu.executorHas(Map.of());
    assertEquals("", AssignedGpu.address(Map.of()));
  }

  private static ResourceInformation resource(String name, String... addresses) {
    return new ResourceInformation(name, addresses);
  }
}
