package io.sluice.doctor.spark;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.Text;
import java.io.IOException;
import java.io.StringReader;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A Spark installation.
 *
 * @param folder its home
 */
record SparkHome(String folder) {
  private static final Pattern CORE = Pattern.compile("spark-core_(\\d+\\.\\d+)-(\\d+)\\.(\\d+)\\.(.*)\\.jar");

  /** By the name of Spark's core jar. */
  record Version(String scala, int major, int minor, String patch) {
    @Override
    public String toString() {
      return major + "." + minor + "." + patch;
    }

    boolean atLeast(int otherMajor, int otherMinor) {
      return major > otherMajor || major == otherMajor && minor >= otherMinor;
    }
  }

  Optional<Version> version(Host host) {
    return host.list(folder + "/jars").stream().map(CORE::matcher).filter(Matcher::matches).findFirst()
        .map(core -> new Version(core.group(1), Integer.parseInt(core.group(2)), Integer.parseInt(core.group(3)),
            core.group(4)));
  }

  String defaultsFile(Host host) {
    return host.environment("SPARK_CONF_DIR").orElse(folder + "/conf") + "/spark-defaults.conf";
  }

  /** The settings of {@code spark-defaults.conf}, read as Spark reads it; empty when there is none. */
  Map<String, String> defaults(Host host) {
    Text file = host.read(defaultsFile(host));
    Map<String, String> settings = new TreeMap<>();
    if (file.known()) {
      Properties properties = new Properties();
      try {
        properties.load(new StringReader(file.value()));
      } catch (IOException | IllegalArgumentException e) {
        // A line that cannot be read: Spark itself stops at it, with its own message.
        return settings;
      }
      properties.forEach((key, value) -> settings.put(key.toString(), value.toString().strip()));
    }
    return settings;
  }
}
