package io.sluice.spark.versions;

import java.io.IOException;
import java.io.Serializable;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.CodeSource;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;

/**
 * Which Sluice a process has: its version, for people, and its classes, which decide. What the driver and executors
 * send each other (shuffle handles, parts of plans, functions, messages) are serialized objects of these classes, and
 * functions are found by names that the compiler makes; so two processes understand each other for certain only if
 * their classes are the same.
 *
 * @param version as the jar's manifest says it; {@link #NO_VERSION} for classes that lie in a folder, as in a build
 * @param classes a digest of the names and CRCs of all classes of Sluice in the jar, those for Java 8 and for 17; not
 *     of the native libraries, which have versions and checks of their own
 */
public record JarBuild(String version, String classes) implements Serializable {
  private static final long serialVersionUID = 1L;
  static final String NO_VERSION = "without a version";
  private static final String NO_JAR = "in no jar";
  private static final String UNKNOWN = "unknown";
  /** The names under which the driver's plugin sends them to executors. */
  private static final String VERSION_KEY = "version";
  private static final String CLASSES_KEY = "classes";
  private static final Pattern CLASS = Pattern.compile("(META-INF/versions/\\d+/)?io/sluice/.*\\.class");

  /** Read once: the file may be replaced while the process runs. */
  private static final class OfThisProcess {
    private static final JarBuild BUILD = read();

    private OfThisProcess() {}
  }

  /** That of this process. */
  public static JarBuild ofThisProcess() {
    return OfThisProcess.BUILD;
  }

  private static JarBuild read() {
    String version = JarBuild.class.getPackage().getImplementationVersion();
    return new JarBuild(version == null ? NO_VERSION : version, classesHere());
  }

  private static String classesHere() {
    CodeSource source = JarBuild.class.getProtectionDomain().getCodeSource();
    URL location = source == null ? null : source.getLocation();
    try {
      Path jar = location == null ? null : Paths.get(location.toURI());
      return jar == null || !Files.isRegularFile(jar) ? NO_JAR : digest(jar);
    } catch (IOException | URISyntaxException | RuntimeException e) {
      // A class loader with places of its own kind, as for jars within jars.
      return UNKNOWN;
    }
  }

  static String digest(Path jar) throws IOException {
    Map<String, Long> crcs = new TreeMap<>();
    try (JarFile file = new JarFile(jar.toFile(), false)) {
      for (ZipEntry entry : Collections.list(file.entries())) {
        if (CLASS.matcher(entry.getName()).matches()) {
          crcs.put(entry.getName(), entry.getCrc());
        }
      }
    }
    MessageDigest digest = sha256();
    crcs.forEach((name, crc) -> {
      digest.update(name.getBytes(StandardCharsets.UTF_8));
      digest.update(ByteBuffer.allocate(Long.BYTES).putLong(crc).array());
    });
    return String.format("%016x", ByteBuffer.wrap(digest.digest()).getLong());
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  /** What the driver's plugin sends to executors. */
  public Map<String, String> toSettings() {
    Map<String, String> settings = new HashMap<>();
    settings.put(VERSION_KEY, version);
    settings.put(CLASSES_KEY, classes);
    return settings;
  }

  /** The build of the driver that sent {@code settings}; empty if it is of a version that does not send one. */
  public static Optional<JarBuild> fromSettings(Map<String, String> settings) {
    String version = settings.get(VERSION_KEY);
    String classes = settings.get(CLASSES_KEY);
    return version == null || classes == null ? Optional.empty() : Optional.of(new JarBuild(version, classes));
  }

  /**
   * Whether objects of one process mean the same in the other: by the classes, or, where these could not be read in
   * both (in a folder, or in a jar within a jar), by the version.
   */
  public boolean worksWith(JarBuild other) {
    return isRead() && other.isRead() ? classes.equals(other.classes) : version.equals(other.version);
  }

  private boolean isRead() {
    return !classes.equals(NO_JAR) && !classes.equals(UNKNOWN);
  }

  @Override
  public String toString() {
    return "Sluice " + version + " (classes " + classes + ")";
  }
}
