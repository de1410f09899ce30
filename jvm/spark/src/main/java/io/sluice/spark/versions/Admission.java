package io.sluice.spark.versions;

import io.sluice.spark.SluiceException;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** On an executor that starts: whether its Sluice is the driver's. */
public final class Admission {
  private static final Logger LOG = LoggerFactory.getLogger(Admission.class);
  private static final String WHAT_TO_DO = ". Give all machines the driver's jar, or start the application again with "
      + "the new one (docs/upgrading.md)";

  private Admission() {}

  /** The way to the driver's half of the plugin. */
  @FunctionalInterface
  public interface Driver {
    /** Sends {@code message} and waits for the answer. */
    Object ask(Object message) throws Exception;
  }

  /**
   * Returns if this executor can work with the driver. Otherwise tells the driver, and throws: Spark then ends the
   * executor before it gets a task.
   *
   * @param fromDriver the settings that the driver's plugin sends
   * @param own the build of this process
   * @throws SluiceException says what differs
   */
  public static void check(String executorId, String host, Map<String, String> fromDriver, JarBuild own,
      Driver driver) {
    JarBuild ofDriver = JarBuild.fromSettings(fromDriver).orElse(null);
    if (ofDriver != null && own.worksWith(ofDriver)) {
      tell(driver, Refusal.admission(executorId));
      logDifference(executorId, own, ofDriver);
      return;
    }
    String sentence = "Executor " + executorId + " on host " + host + " is refused: it has " + own + ", the driver has "
        + (ofDriver == null ? "a Sluice that does not say which it is" : ofDriver) + WHAT_TO_DO;
    tell(driver, new Refusal(executorId, sentence).toMessage());
    throw new SluiceException(sentence);
  }

  private static void logDifference(String executorId, JarBuild own, JarBuild ofDriver) {
    if (!own.version().equals(ofDriver.version())) {
      LOG.info("Executor {} has Sluice {} and the driver Sluice {}, with the same classes: it takes part", executorId,
          own.version(), ofDriver.version());
    } else if (!own.classes().equals(ofDriver.classes())) {
      LOG.warn("Executor {} has {}, the driver has {}: whether the classes are the same cannot be told. It takes part",
          executorId, own, ofDriver);
    }
  }

  /** Without a message about a refusal, its sentence is in Spark's own about the end of the executor all the same. */
  private static void tell(Driver driver, Map<String, String> message) {
    try {
      driver.ask(message);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Exception | LinkageError e) {
      LOG.warn("The driver could not be told whether this executor takes part", e);
    }
  }
}
