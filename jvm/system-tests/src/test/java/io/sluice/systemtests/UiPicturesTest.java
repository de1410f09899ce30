package io.sluice.systemtests;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.nativebridge.NativeCore;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import scala.Tuple2;

/** Makes the pictures of the tab in {@code docs/images} anew, with {@code -Dsluice.writeDocs=true} only. */
@EnabledIfSystemProperty(named = "sluice.writeDocs", matches = "true")
class UiPicturesTest {
  private static final Path IMAGES = Paths.get("../../docs/images").toAbsolutePath().normalize();
  private static final long ORDERS = 2_000_000;

  @TempDir private Path folder;
  private Browser browser;

  @Test
  void picturesOfThePages() throws Exception {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    OneSidedTransportTest.assumeUcx();
    browser = Browser.orSkip(folder);
    Path eventLogs = Files.createDirectories(folder.resolve("events"));
    String id;
    try (SparkApplication application = oneSided(application(eventLogs)).start().awaitExecutors(2)) {
      id = application.session().sparkContext().applicationId();
      report(application.session());
      visits(application.context());
      withoutSluice(application.session());
      // Twice, because one listener posts what another one shows.
      application.events();
      application.events();
      String ui = uiOf(application.session());
      picture("overview", "light", 1_000, ui + "/sluice/");
      picture("shuffles", "light", 800, ui + "/sluice/shuffles/");
      picture("timeline", "light", 1_150, ui + "/sluice/timeline/?id=0");
      picture("executors", "light", 1_000, ui + "/sluice/executors/");
      picture("diagnosis", "light", 500, ui + "/sluice/diagnosis/");
      picture("dark", "dark", 800, ui + "/sluice/shuffles/");
    }
    fallback(eventLogs);
    String jar = Paths.get(NativeCore.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    try (HistoryServer server = HistoryServer.start(eventLogs, jar, folder.resolve("history.log"))) {
      picture("history", "light", 700, server.awaitUiOf(id) + "/sluice/");
    }
  }

  /**
   * Map outputs in memory, more than may stay there, are read one-sidedly by the other executor; tasks have less block
   * memory than they fill.
   */
  private static SparkApplication.Builder oneSided(SparkApplication.Builder application) {
    return application.set("spark.sluice.mode", "UCX").set("spark.sluice.ucx.allowUnauthenticatedTcp", "true")
        .set("spark.shuffle.readHostLocalDisk", "false").set("spark.sluice.cache.hostLimit", "64m")
        .set("spark.sluice.memory.limit", "64m");
  }

  /** An application whose codec Sluice does not have. */
  private void fallback(Path eventLogs) throws Exception {
    try (SparkApplication application =
        application(eventLogs).set("spark.io.compression.codec", "lzf").start().awaitExecutors(2)) {
      report(application.session());
      application.events();
      application.events();
      picture("fallback", "light", 500, uiOf(application.session()) + "/sluice/shuffles/");
      picture("remedy", "light", 350, uiOf(application.session()) + "/sluice/diagnosis/");
    }
  }

  private static SparkApplication.Builder application(Path eventLogs) {
    return SparkApplication.on(Engine.UNDER_TEST).master(SparkApplication.CLUSTER)
        .set("spark.app.name", "orders report").set("spark.ui.enabled", "true").set("spark.ui.port", "0")
        .set("spark.eventLog.enabled", "true")
        .set("spark.eventLog.dir", eventLogs.toUri().toString());
  }

  /** Orders joined with their customers, revenue by region; every order has a token that nothing makes smaller. */
  private static void report(SparkSession session) {
    session.range(0, ORDERS, 1, 8).selectExpr("id AS order", "pmod(xxhash64(id), 20000) AS customer",
        "CAST(id % 1000 AS DECIMAL(10,2)) AS price", "sha1(CAST(id AS STRING)) AS token")
        .createOrReplaceTempView("orders");
    session.range(0, 20_000, 1, 4).selectExpr("id AS customer", "concat('region ', id % 25) AS region")
        .createOrReplaceTempView("customers");
    session.sql("SELECT region, sum(price) AS revenue, max(token) AS token FROM orders JOIN customers USING (customer) "
        + "GROUP BY region ORDER BY revenue").collectAsList();
    session.sql("SELECT customer, count(*) AS orders FROM orders GROUP BY customer ORDER BY orders DESC LIMIT 10")
        .collectAsList();
    session.sql("SELECT * FROM orders DISTRIBUTE BY customer SORT BY order").selectExpr("max(token)").collectAsList();
  }

  /** Records of an RDD, counted by key. */
  private static void visits(JavaSparkContext context) {
    List<Integer> numbers = IntStream.range(0, 200_000).boxed().collect(Collectors.toList());
    context.parallelize(numbers, 8).mapToPair(number -> new Tuple2<>("page " + number % 5_000, 1))
        .reduceByKey(Integer::sum).count();
  }

  /** A query whose session has switched Sluice off. */
  private static void withoutSluice(SparkSession session) {
    SparkSession other = session.newSession();
    other.conf().set("spark.sluice.enabled", "false");
    other.range(0, 100_000, 1, 8).selectExpr("id % 100 AS key").groupBy("key").count().collectAsList();
  }

  private static String uiOf(SparkSession session) {
    return "http://127.0.0.1:" + URI.create(session.sparkContext().uiWebUrl().get()).getPort();
  }

  private void picture(String name, String theme, int height, String url) throws Exception {
    browser.picture(theme, height, IMAGES.resolve("ui-" + name + ".png"), url);
  }
}
