package io.sluice.spark.conf;

import io.sluice.spark.SluiceException;
import java.io.IOException;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLConnection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The Sluice jars on this process's class path. One jar that is there twice does no harm; of two versions, classes come
 * from the one that each class loader finds first, which differs between driver and executors and ends in errors that
 * name anything but the cause.
 */
public final class JarVersions {
  private static final Logger LOG = LoggerFactory.getLogger(JarVersions.class);
  /** A class that every version has. */
  private static final String CLASS_FILE = "io/sluice/spark/SluicePlugin.class";

  private JarVersions() {}

  /**
   * Looks at every jar that Sluice's own class loader and the thread's see.
   *
   * @throws SluiceException when they are of several versions; it names each jar
   */
  public static void requireOne() {
    requireOne(CLASS_FILE, Stream.of(JarVersions.class.getClassLoader(), Thread.currentThread().getContextClassLoader())
        .filter(Objects::nonNull).distinct().collect(Collectors.toList()));
  }

  static void requireOne(String classFile, List<ClassLoader> loaders) {
    Map<String, String> versions = new TreeMap<>();
    for (ClassLoader loader : loaders) {
      try {
        for (URL found : Collections.list(loader.getResources(classFile))) {
          addVersion(found, versions);
        }
      } catch (IOException e) {
        LOG.warn("Whether Sluice is on the class path in two versions cannot be said: {}", e.toString());
      }
    }
    if (versions.values().stream().distinct().count() > 1) {
      throw new SluiceException("Sluice is on the class path in several versions: "
          + versions.entrySet().stream().map(jar -> jar.getValue() + " in " + jar.getKey())
              .collect(Collectors.joining(", "))
          + ". Leave one: look at spark.jars, spark.jars.packages, spark.driver.extraClassPath, "
          + "spark.executor.extraClassPath and the folder jars of the Spark installation");
    }
  }

  /** Classes in a folder, as in a build, have no version. */
  private static void addVersion(URL classFile, Map<String, String> versions) throws IOException {
    URLConnection connection = classFile.openConnection();
    if (!(connection instanceof JarURLConnection)) {
      return;
    }
    // A cached connection would share, and close, the class loader's own open file.
    connection.setUseCaches(false);
    try (JarFile jar = ((JarURLConnection) connection).getJarFile()) {
      Manifest manifest = jar.getManifest();
      String version = manifest == null ? null
          : manifest.getMainAttributes().getValue(Attributes.Name.IMPLEMENTATION_VERSION);
      versions.put(jar.getName(), version == null ? "one without a version" : version);
    }
  }
}
