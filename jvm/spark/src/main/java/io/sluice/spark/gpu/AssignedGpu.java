package io.sluice.spark.gpu;

import java.util.Map;
import org.apache.spark.resource.ResourceInformation;

/**
 * Which GPU Spark has given to this executor ({@code spark.executor.resource.gpu.amount}). Tasks know it only where
 * applications also say how much of it a task takes ({@code spark.task.resource.gpu.amount}); the plugin knows it
 * always.
 */
public final class AssignedGpu {
  /** The name by which applications ask for GPUs. */
  static final String RESOURCE = "gpu";

  /** Set when the plugin is initialised, which is before any task; empty without the plugin. */
  private static volatile String executorsAddress = "";

  private AssignedGpu() {}

  /** Notes what Spark has given to the executor of this process; on the plugin's thread, before tasks. */
  public static void executorHas(Map<String, ResourceInformation> resources) {
    executorsAddress = addressOf(resources);
  }

  /**
   * The address of the GPU as Spark's resource discovery gave it: the task's, else the executor's; empty if Spark has
   * given none. Of several it is the first: an executor uses one.
   *
   * @param ofTask the resources of the executor's first task
   */
  public static String address(Map<String, ResourceInformation> ofTask) {
    String address = addressOf(ofTask);
    return address.isEmpty() ? executorsAddress : address;
  }

  private static String addressOf(Map<String, ResourceInformation> resources) {
    ResourceInformation gpus = resources.get(RESOURCE);
    return gpus == null || gpus.addresses().length == 0 ? "" : gpus.addresses()[0];
  }
}
