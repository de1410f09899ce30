package io.sluice.doctor.check;

import io.sluice.doctor.host.Host;
import java.util.List;

/** The JVM that runs this program: Spark may be started with another, so its path is named. */
public final class JavaCheck implements Check {
  @Override
  public Subject subject() {
    return Subject.JAVA;
  }

  @Override
  public List<Finding> look(Host host) {
    return List.of(Finding.ok(Subject.JAVA, host.property("java.version") + " (" + host.property("java.vendor") + "), "
        + host.property("java.home") + "; Spark's must be 17 or later too"));
  }
}
