package io.sluice;

import java.io.File;
import java.io.IOException;
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
  private static final String CLASS_OF_SPARK = "org.apache.spark.SparkConf";
  private static final String HOME = "SPARK_HOME";
  private static final int CANNOT_START = 2;

  private WithSpark() {}

  /** Calls {@code main} of the class; what it throws is printed without its trace, and the exit code is 2. */
  static void run(String command, String mainClass, String[] arguments) throws IOException {
    try {
      ClassLoader loader = loader(command);
      Thread.currentThread().setContextClassLoader(loader);
      Class.forName(mainClass, true, loader).getMethod("main", String[].class).invoke(null, (Object) arguments);
    } catch (InvocationTargetException e) {
      fail(command + ": " + e.getCause().getMessage());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(mainClass + " cannot be started, please report this: " + e, e);
    }
  }

  private static ClassLoader loader(String command) throws MalformedURLException {
    ClassLoader own = WithSpark.class.getClassLoader();
    if (own.getResource(CLASS_OF_SPARK.replace('.', '/') + ".class") != null) {
      return own;
    }
    String home = System.getenv(HOME);
    File[] jars = home == null ? null : new File(home, "jars").listFiles((folder, name) -> name.endsWith(".jar"));
    if (jars == null || jars.length == 0) {
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
