package io.sluice.spark.versions;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What an executor that may not take part tells the driver before it ends. It travels as a map of texts, which a driver
 * of any version can read.
 *
 * @param sentence says which executor, and why
 */
public record Refusal(String executorId, String sentence) {
  private static final String ADMITTED_KEY = "io.sluice.admitted.executor";
  private static final String EXECUTOR_KEY = "io.sluice.refused.executor";
  private static final String SENTENCE_KEY = "io.sluice.refused.because";

  /** The message. */
  public Map<String, String> toMessage() {
    Map<String, String> message = new HashMap<>();
    message.put(EXECUTOR_KEY, executorId);
    message.put(SENTENCE_KEY, sentence);
    return message;
  }

  /** What an executor that takes part tells the driver instead. */
  static Map<String, String> admission(String executorId) {
    return Collections.singletonMap(ADMITTED_KEY, executorId);
  }

  /** The executor that {@code message} says takes part, if it says that. */
  public static Optional<String> admittedBy(Object message) {
    return message instanceof Map<?, ?> map && map.get(ADMITTED_KEY) instanceof String executorId
        ? Optional.of(executorId) : Optional.empty();
  }

  /** The refusal that {@code message} is, if it is one. */
  public static Optional<Refusal> fromMessage(Object message) {
    if (message instanceof Map<?, ?> map && map.get(EXECUTOR_KEY) instanceof String executorId
        && map.get(SENTENCE_KEY) instanceof String sentence) {
      return Optional.of(new Refusal(executorId, sentence));
    }
    return Optional.empty();
  }
}
