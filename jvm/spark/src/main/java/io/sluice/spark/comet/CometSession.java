package io.sluice.spark.comet;

import io.sluice.spark.compat.SparkLine;
import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets Comet put its exchanges into plans although the shuffle manager is Sluice's, which then carries them.
 *
 * <p>Comet does that only where the <em>session's</em> {@code spark.shuffle.manager} is its own manager; Spark made the
 * manager by the application's setting before, and does not look at the session's. So the session's is changed, before
 * a query is planned, and changed back where the session does not want it any more.
 */
public final class CometSession {
  /** The version whose exchanges Sluice knows. */
  static final String KNOWN = "0.12";
  /** The Spark on which that was tried. There are builds of it for others, whose types are more. */
  static final String KNOWN_SPARK = "3.5";
  private static final Logger LOG = LoggerFactory.getLogger(CometSession.class);
  private static final String BUILD = "comet-git-info.properties";
  private static final String VERSION = "git.build.version";
  private static final String UNKNOWN = "of an unknown version";
  private static final String MANAGER = "spark.shuffle.manager";
  private static final String PLUGINS = "spark.plugins";
  private static final String PLUGIN = "org.apache.spark.CometPlugin";
  private static final String EXTENSIONS = "spark.sql.extensions";
  /** Comet's plugin names it, or the user does. */
  private static final String EXTENSION = "org.apache.comet.CometSparkSessionExtensions";
  private static final String COMETS = "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager";
  private static final AtomicBoolean WARNED = new AtomicBoolean();

  private CometSession() {}

  /**
   * Called on the thread that plans a query, before it is planned.
   *
   * @param wanted whether the session wants Comet's exchanges to be carried, and the application's manager can
   * @param sluices the class name of the application's manager
   */
  public static void prepare(boolean wanted, String sluices) {
    prepare(wanted, sluices, SparkLine.version());
  }

  static void prepare(boolean wanted, String sluices, String spark) {
    SQLConf session = SQLConf$.MODULE$.get();
    boolean prepared = COMETS.equals(session.getConfString(MANAGER, ""));
    boolean rulesRun = session.getConfString(EXTENSIONS, "").contains(EXTENSION);
    if (prepared != (wanted && rulesRun && isKnown(spark))) {
      session.setConfString(MANAGER, prepared ? sluices : COMETS);
    }
  }

  /** When the application starts: says whose Comet's exchanges will be. Nothing without Comet. */
  public static void report(SparkConf conf, boolean wanted) {
    boolean named = conf.get(PLUGINS, "").contains(PLUGIN) || conf.get(EXTENSIONS, "").contains(EXTENSION);
    if (named && isKnown(SparkLine.version())) {
      LOG.info("Comet {}: {}", version(), wanted ? "its exchanges are carried by Sluice"
          : "its operators run between Sluice's exchanges of rows, because spark.sluice.comet=false");
    }
  }

  /** Whether Comet has the version that Sluice knows, on the Spark that it knows it on; warns once of another. */
  private static boolean isKnown(String spark) {
    String version = version();
    boolean known = version.startsWith(KNOWN + ".") && spark.startsWith(KNOWN_SPARK + ".");
    if (!known && WARNED.compareAndSet(false, true)) {
      LOG.warn("Comet's operators run between Sluice's exchanges of rows, as with spark.sluice.comet=false: Sluice "
          + "carries the exchanges of Comet {} on Spark {}, and this is Comet {} on Spark {}", KNOWN, KNOWN_SPARK,
          version, spark);
    }
    return known;
  }

  /** As the file of Comet's build says. */
  private static String version() {
    ClassLoader ofThread = Thread.currentThread().getContextClassLoader();
    ClassLoader classes = ofThread == null ? CometSession.class.getClassLoader() : ofThread;
    try (InputStream build = classes.getResourceAsStream(BUILD)) {
      if (build == null) {
        return UNKNOWN;
      }
      Properties properties = new Properties();
      properties.load(build);
      return properties.getProperty(VERSION, UNKNOWN);
    } catch (IOException e) {
      LOG.debug("reading {}", BUILD, e);
      return UNKNOWN;
    }
  }
}
