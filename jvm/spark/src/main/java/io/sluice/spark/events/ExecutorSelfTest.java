package io.sluice.spark.events;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;

/** What an executor can do, as it found when it started; posted when its first task of a shuffle has ended. */
public final class ExecutorSelfTest extends SluiceEvent {
  private static final int MOST_TEXT_BYTES = 250;
  private static final int MOST_VERSION_BYTES = 40;

  private final String executorId;
  private final String host;
  private final boolean nativeCore;
  private final String detail;
  private final String javaVersion;

  @JsonCreator
  ExecutorSelfTest(@JsonProperty("version") int version, @JsonProperty("executorId") String executorId,
      @JsonProperty("host") String host, @JsonProperty("nativeCore") boolean nativeCore,
      @JsonProperty("detail") String detail, @JsonProperty("javaVersion") String javaVersion) {
    super(version);
    this.executorId = executorId;
    this.host = host;
    this.nativeCore = nativeCore;
    this.detail = detail;
    this.javaVersion = javaVersion;
  }

  /** An event of this version of Sluice. */
  public static ExecutorSelfTest of(String executorId, String host, boolean nativeCore, String detail) {
    return new ExecutorSelfTest(VERSION, executorId, Texts.atMost(MOST_TEXT_BYTES, host), nativeCore,
        Texts.atMost(MOST_TEXT_BYTES, detail), null);
  }

  /** The same, with the executor's Java. */
  public ExecutorSelfTest on(String java) {
    return new ExecutorSelfTest(
        version(), executorId, host, nativeCore, detail, Texts.atMost(MOST_VERSION_BYTES, java));
  }

  /** The number that Spark gives the executor. */
  public String executorId() {
    return executorId;
  }

  /** The host that it runs on. */
  public String host() {
    return host;
  }

  /** Whether the executor uses the native library; otherwise it reads and writes frames in Java. */
  public boolean nativeCore() {
    return nativeCore;
  }

  /** What the native library said, or why it is not used. */
  public String detail() {
    return detail;
  }

  /** The version of the executor's Java; null in logs of older versions of Sluice. */
  public String javaVersion() {
    return javaVersion;
  }
}
