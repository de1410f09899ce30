package io.sluice;

import io.sluice.spark.SluiceException;
import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;

/**
 * Starts a program of the jar that needs Spark's classes. {@code java -jar} has none on its class path; then the
 * program gets a class loader with the jar and the jars of {@code SPARK_HOME}.
 */
final class WithSpark {
  private static final String CLASS_OF_SPARK = "org/apache/spark/SparkConf.class";
  private static final String HOME = "SPARK_HOME";
  /** Class files of Java N have the version 44 + N. */
  private static final int CLASS_VERSION_OF_JAVA_0 = 44;
  private static final int FAILED = 1;
  private static final int CANNOT_START = 2;

  private WithSpark() {}

  /**
   * Calls {@code main} of the class. Of an error that is meant for users only the message is printed, and the exit code
   * is 2; anything else that it throws is printed with its trace, and the exit code is 1.
   *
   * @param printsTextOnly whether, with these arguments, it ends before it needs Spark, as for {@code --help}
   */
  static void run(String command, String mainClass, String[] arguments, boolean printsTextOnly) throws IOException {
    ClassLoader loader = loader(command, printsTextOnly);
    try {
      Thread.currentThread().setContextClassLoader(loader);
      Class.forName(mainClass, true, loader).getMethod("main", String[].class).invoke(null, (Object) arguments);
    } catch (InvocationTargetException e) {
      report(command, loader, e.getCause());
    } catch (LinkageError e) {
      report(command, loader, e);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(mainClass + " cannot be started, please report this: " + e, e);
    }
  }

  private static void report(String command, ClassLoader loader, Throwable thrown) throws IOException {
    // The loader of Spark's classes has a SluiceException of its own.
    if (thrown.getMessage() != null && (thrown instanceof IllegalArgumentException
        || thrown.getClass().getName().equals(SluiceException.class.getName()))) {
      fail(command + ": " + thrown.getMessage());
    }
    int own = (int) Double.parseDouble(System.getProperty("java.class.version"));
    int needed = thrown instanceof LinkageError ? classVersionOfSpark(loader) : 0;
    if (needed > own) {
      fail(command + " needs Java " + (needed - CLASS_VERSION_OF_JAVA_0) + " or later with the Spark "
          + (loader == WithSpark.class.getClassLoader() ? "on the class path" : "in " + System.getenv(HOME))
          + ", and this is Java " + (own - CLASS_VERSION_OF_JAVA_0) + ". Start it with a newer java, or take a Spark "
          + "that runs on this one");
    }
    System.err.println("error: " + command + " failed:");
    thrown.printStackTrace();
    System.exit(FAILED);
  }

  /** 0 if there is no Spark. */
  private static int classVersionOfSpark(ClassLoader loader) throws IOException {
    try (InputStream in = loader.getResourceAsStream(CLASS_OF_SPARK)) {
      if (in == null) {
        return 0;
      }
      DataInputStream data = new DataInputStream(in);
      // The magic number and the minor version.
      data.readInt();
      data.readUnsignedShort();
      return data.readUnsignedShort();
    }
  }

  private static ClassLoader loader(String command, boolean printsTextOnly) throws MalformedURLException {
    ClassLoader own = WithSpark.class.getClassLoader();
    if (own.getResource(CLASS_OF_SPARK) != null) {
      return own;
    }
    String set = System.getenv(HOME);
    String home = set == null || set.isEmpty() ? null : set;
    File[] jars = home == null ? null : new File(home, "jars").listFiles((folder, name) -> name.endsWith(".jar"));
    if (jars == null || jars.length == 0) {
      if (printsTextOnly) {
        return own;
      }
      fail(command + " needs Spark's classes, and " + (home == null ? HOME + " is not set"
          : "there are no jars in " + new File(home, "jars") + ", the folder jars of " + HOME)
          + ". Set " + HOME + " to the folder of a Spark installation; with the Python package and PySpark, python -m "
          + "sluice_spark " + command + " finds Spark itself");
    }
    List<URL> urls = new ArrayList<>();
    urls.add(WithSpark.class.getProtectionDomain().getCodeSource().getLocation());
    for (File jar : jars) {
      urls.add(jar.toURI().toURL());
    }
    // Not below this class's own loader, which has the jar's classes too, and would look for Spark's in vain.
    return new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getSystemClassLoader().getParent());
  }

  private static void fail(String message) {
    System.err.println("error: " + message);
    System.exit(CANNOT_START);
  }
}
