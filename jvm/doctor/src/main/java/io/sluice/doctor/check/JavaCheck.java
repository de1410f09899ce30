package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.JAVA;

import io.sluice.doctor.host.Host;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The JVM that runs this program, and the one that {@code JAVA_HOME} names for Spark, when that is another. */
public final class JavaCheck implements Check {
  private static final int OLDEST = 8;
  /** Versions up to 8 are written 1.8.0. */
  private static final Pattern VERSION =
      Pattern.compile("^JAVA_VERSION=\"(?:1\\.)?(\\d+)([^\"]*)\"", Pattern.MULTILINE);

  @Override
  public Subject subject() {
    return JAVA;
  }

  @Override
  public List<Finding> look(Host host) {
    String own = host.property("java.home");
    Finding running =
        Finding.ok(JAVA, host.property("java.version") + " (" + host.property("java.vendor") + "), " + own);
    Optional<String> other =
        host.environment("JAVA_HOME").filter(home -> !host.resolve(home).equals(host.resolve(own)));
    return other.map(home -> List.of(running, named(host, home))).orElse(List.of(running));
  }

  private static Finding named(Host host, String home) {
    Matcher version = VERSION.matcher(host.read(home + "/release").or(""));
    if (!version.find()) {
      return Finding.unknown(JAVA, "JAVA_HOME is " + home + ", whose release file does not say a version");
    }
    OptionalLong major = Amount.number(version.group(1));
    String text = "JAVA_HOME is " + home + ", Java " + version.group(1) + version.group(2);
    return major.isPresent() && major.getAsLong() >= OLDEST ? Finding.ok(JAVA, text)
        : Finding.problem(JAVA, text + ": Sluice needs " + OLDEST + " or later",
            "Start Spark with a newer one: JAVA_HOME in conf/spark-env.sh and for the cluster manager's executors");
  }
}
