package io.sluice.systemtests;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.sluice.spark.executor.ExecutorGauge;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.policy.FallbackReason;
import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Spark's sinks bring every metric of Sluice, with its value: CSV, JMX, the Prometheus servlet, Graphite, StatsD. The
 * rules of {@code docs/monitoring} fit what JMX and the servlet offer.
 */
@Tag("once")
class MetricsSinksTest {
  private static final long ROWS = 20_000;
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final String PLUGIN = ".driver.plugin.io.sluice.spark.SluicePlugin.";
  private static final Path MONITORING = Paths.get("..", "..", "docs", "monitoring");
  private static final String SINK = "spark.metrics.conf.*.sink.";

  @TempDir private Path csv;

  @Test
  void everySinkHasEveryMetric() throws Exception {
    assumeTrue(Engine.UNDER_TEST.isSluice(), "another manager is tested");
    try (Graphite graphite = new Graphite(); Statsd statsd = new Statsd();
        SparkApplication application = start(graphite.port(), statsd.port())) {
      assertEquals(ROWS,
          Fingerprint.of(Tables.events(application.session(), ROWS, 2).repartition(3, col("k"))).rows());
      long rowBytes = ProcessCounters.here(Counter.WRITE_ROW_BYTES);
      assertTrue(rowBytes > 0, "nothing was written");
      assertComes("CSV", rowBytes, this::readCsv);
      assertComes("JMX", rowBytes, MetricsSinksTest::readJmx);
      assertComes("Graphite", rowBytes, () -> graphite.values);
      assertComes("StatsD", rowBytes, () -> statsd.values);
      int port = java.net.URI.create(application.session().sparkContext().uiWebUrl().get()).getPort();
      assertServletComes(rowBytes, "http://127.0.0.1:" + port + "/metrics/prometheus");
    }
  }

  private SparkApplication start(int graphitePort, int statsdPort) {
    SparkApplication.Builder builder = SparkApplication.on(Engine.UNDER_TEST)
        .set("spark.ui.enabled", "true").set("spark.ui.port", "0")
        .set(SINK + "csv.directory", csv.toString())
        .set(SINK + "graphite.host", "127.0.0.1").set(SINK + "graphite.port", String.valueOf(graphitePort))
        .set(SINK + "statsd.host", "127.0.0.1").set(SINK + "statsd.port", String.valueOf(statsdPort))
        .set(SINK + "prometheusServlet.path", "/metrics/prometheus");
    Map<String, String> classes = new HashMap<>();
    classes.put("csv", "CsvSink");
    classes.put("jmx", "JmxSink");
    classes.put("graphite", "GraphiteSink");
    classes.put("statsd", "StatsdSink");
    classes.put("prometheusServlet", "PrometheusServlet");
    classes.forEach((sink, name) -> builder.set(SINK + sink + ".class", "org.apache.spark.metrics.sink." + name)
        .set(SINK + sink + ".period", "1").set(SINK + sink + ".unit", "seconds"));
    return builder.start();
  }

  static Set<String> allMetrics() {
    return Stream
        .of(Stream.of(Counter.values()).map(Counter::id), Stream.of(ExecutorGauge.values()).map(ExecutorGauge::id),
            Stream.of(FallbackReason.values()).map(FallbackReason::metric))
        .flatMap(ids -> ids)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** @param read Spark's names of metrics, and their values as text */
  private static void assertComes(String sink, long rowBytes, Supplier<Map<String, String>> read) {
    Await.until(LIMIT, () -> sink + " has " + ours(read.get()), () -> {
      String value = ours(read.get()).get(Counter.WRITE_ROW_BYTES.id());
      return value != null && (long) Double.parseDouble(value) == rowBytes;
    });
    Await.until(LIMIT, () -> sink + " has only " + ours(read.get()).keySet(),
        () -> ours(read.get()).keySet().equals(allMetrics()));
  }

  private static Map<String, String> ours(Map<String, String> all) {
    Map<String, String> ours = new HashMap<>();
    all.forEach((name, value) -> {
      int at = name.indexOf(PLUGIN);
      if (at > 0) {
        ours.put(name.substring(at + PLUGIN.length()), value);
      }
    });
    return ours;
  }

  /** The newest line of each file, which is {@code seconds,value}. */
  private Map<String, String> readCsv() {
    Map<String, String> values = new HashMap<>();
    try (Stream<Path> files = Files.list(csv)) {
      for (Path file : files.filter(each -> each.getFileName().toString().contains(PLUGIN))
          .collect(Collectors.toList())) {
        List<String> lines = Files.readAllLines(file);
        String newest = lines.isEmpty() ? "" : lines.get(lines.size() - 1);
        if (lines.size() > 1 && newest.contains(",")) {
          values.put(file.getFileName().toString().replaceFirst("\\.csv$", ""),
              newest.substring(newest.indexOf(',') + 1));
        }
      }
      return values;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Every bean must fit the exporter's rule, too. */
  private static Map<String, String> readJmx() {
    try {
      Pattern rule = Pattern.compile(quoted("jmx-exporter.yml", "pattern: '", "'"));
      Map<String, String> values = new HashMap<>();
      MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
      for (ObjectName bean : beans.queryNames(new ObjectName("metrics:*"), null)) {
        String name = bean.getKeyProperty("name");
        if (name.contains(PLUGIN)) {
          String shown = bean.getDomain() + "<" + bean.getKeyPropertyListString().replace(",", ", ") + "><>Value";
          Matcher matcher = rule.matcher(shown);
          assertTrue(matcher.matches(), shown);
          assertEquals(name, matcher.group(1) + PLUGIN + matcher.group(3));
          assertEquals("driver", matcher.group(2));
          values.put(name, String.valueOf(beans.getAttribute(bean, "Value")));
        }
      }
      return values;
    } catch (JMException | IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The first text between {@code before} and {@code after} in a file. */
  private static String quoted(String file, String before, String after) throws IOException {
    String text = new String(Files.readAllBytes(MONITORING.resolve(file)), StandardCharsets.UTF_8);
    int from = text.indexOf(before) + before.length();
    return text.substring(from, text.indexOf(after, from));
  }

  /** The rule of {@code prometheus.yml} must make names of docs/metrics.md of Spark's. */
  private static void assertServletComes(long rowBytes, String url) throws IOException {
    Pattern rule = Pattern.compile(quoted("prometheus.yml", "regex: \"", "\""));
    Map<String, String> values = new HashMap<>();
    for (String line : WebPage.get(url).split("\n")) {
      Matcher matcher = rule.matcher(line.replaceFirst("\\{.*", ""));
      if (matcher.matches()) {
        assertEquals("driver", matcher.group(2));
        values.put(matcher.group(3), line.substring(line.lastIndexOf(' ') + 1));
      }
    }
    assertEquals(allMetrics().stream().map(name -> name.replace('.', '_')).collect(Collectors.toSet()),
        values.keySet());
    assertEquals(String.valueOf(rowBytes), values.get("write_rowBytes"));
  }

  /** Takes what a sink sends, on a thread of its own. */
  private abstract static class Receiver implements Closeable {
    final Map<String, String> values = new ConcurrentHashMap<>();

    void start() {
      Thread thread = new Thread(() -> {
        try {
          receive();
        } catch (IOException closed) {
          // The test has ended.
        }
      }, getClass().getSimpleName());
      thread.setDaemon(true);
      thread.start();
    }

    /** Until {@link #close} makes it fail. */
    abstract void receive() throws IOException;
  }

  /** Lines of {@code name value seconds} over TCP. */
  private static final class Graphite extends Receiver {
    private final ServerSocket socket = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());

    Graphite() throws IOException {
      start();
    }

    int port() {
      return socket.getLocalPort();
    }

    @Override
    void receive() throws IOException {
      while (true) {
        try (Socket connection = socket.accept(); BufferedReader lines = new BufferedReader(
            new InputStreamReader(connection.getInputStream(), StandardCharsets.UTF_8))) {
          for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            values.put(words[0], words[1]);
          }
        }
      }
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  /** Packets of {@code name:value|g}. */
  private static final class Statsd extends Receiver {
    private static final int MOST_BYTES = 65_536;
    private final DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress());

    Statsd() throws IOException {
      start();
    }

    int port() {
      return socket.getLocalPort();
    }

    @Override
    void receive() throws IOException {
      byte[] bytes = new byte[MOST_BYTES];
      while (true) {
        DatagramPacket packet = new DatagramPacket(bytes, bytes.length);
        socket.receive(packet);
        for (String line : new String(bytes, 0, packet.getLength(), StandardCharsets.UTF_8).split("\n")) {
          int colon = line.lastIndexOf(':');
          values.put(line.substring(0, colon), line.substring(colon + 1, line.indexOf('|', colon)));
        }
      }
    }

    @Override
    public void close() {
      socket.close();
    }
  }
}
