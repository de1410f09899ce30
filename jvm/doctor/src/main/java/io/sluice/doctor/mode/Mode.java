package io.sluice.doctor.mode;

import static io.sluice.doctor.mode.Requirement.advised;
import static io.sluice.doctor.mode.Requirement.meantFor;
import static io.sluice.doctor.mode.Requirement.must;
import static io.sluice.doctor.mode.Requirement.mustHaveOne;
import static io.sluice.doctor.mode.Requirement.orElse;

import io.sluice.doctor.check.Subject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The values of {@code spark.sluice.mode} and the requirements of each. This table is all there is to change when a
 * mode needs something else.
 */
public enum Mode {
  MULTITHREADED("frames in Spark's files, moved by Spark's block transfer", all(
      List.of(orElse(Subject.PLATFORM, Mode.JAVA), orElse(Subject.NATIVE_LIBRARY, Mode.JAVA),
          orElse(Subject.SPARK_FRAMES, Mode.SPARKS_SHUFFLE), advised(Subject.HUGE_PAGES)),
      ofEveryMode())),

  UCX("frames in memory while there is room, moved by UCX", all(
      List.of(orElse(Subject.NATIVE_LIBRARY, Mode.JAVA), orElse(Subject.SPARK_FRAMES, Mode.SPARKS_SHUFFLE)),
      ofUcx(), ofEveryMode())),

  RDMA("Spark's own records and files, moved by UCX; spark.sluice.transport=ucx needs the same", all(
      List.of(orElse(Subject.PLATFORM, Mode.NETTY), orElse(Subject.NATIVE_LIBRARY, Mode.NETTY),
          meantFor(Subject.RDMA_PORT), advised(Subject.REGISTRATION)),
      ofUcx(), ofEveryMode())),

  CACHE_ONLY("frames in memory while there is room, for one executor", all(
      List.of(orElse(Subject.NATIVE_LIBRARY, Mode.JAVA), orElse(Subject.SPARK_FRAMES, Mode.SPARKS_SHUFFLE),
          advised(Subject.HUGE_PAGES)),
      ofEveryMode()));

  private static final String SPARKS_SHUFFLE = "Spark's own shuffle";
  /** Beside native code, UCX and memory files are out too. */
  private static final String JAVA = "frames in Java, uncompressed and in files";
  private static final String NETTY = "Spark's block transfer (Netty)";

  private final String what;
  private final List<Requirement> requirements;

  Mode(String what, List<Requirement> requirements) {
    this.what = what;
    this.requirements = requirements;
  }

  private static List<Requirement> ofEveryMode() {
    return List.of(must(Subject.JAVA), must(Subject.SPARK_VERSION), must(Subject.SPARK_JAR), must(Subject.SPARK_KEYS),
        mustHaveOne(Subject.LOCAL_DIRS),
        advised(Subject.SPARK_SETTINGS), advised(Subject.OPEN_FILES));
  }

  private static List<Requirement> ofUcx() {
    return List.of(orElse(Subject.UCX_LIBRARY, Mode.NETTY), advised(Subject.UCX_TRANSPORTS),
        advised(Subject.RDMA_FILES), advised(Subject.VERBS), advised(Subject.LOCKED_MEMORY),
        advised(Subject.SHARED_MEMORY),
        advised(Subject.CROSS_MEMORY), orElse(Subject.SPARK_TRANSFER, Mode.NETTY));
  }

  @SafeVarargs
  private static List<Requirement> all(List<Requirement>... parts) {
    List<Requirement> all = new ArrayList<>();
    Stream.of(parts).forEach(all::addAll);
    return List.copyOf(all);
  }

  public static Optional<Mode> named(String name) {
    return Stream.of(values()).filter(mode -> mode.name().equals(name.toUpperCase(Locale.ROOT))).findFirst();
  }

  /** A description for people. */
  public String what() {
    return what;
  }

  List<Requirement> requirements() {
    return requirements;
  }
}
