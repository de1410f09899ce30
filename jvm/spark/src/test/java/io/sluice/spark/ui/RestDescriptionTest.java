package io.sluice.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.events.ShuffleColumns;
import io.sluice.spark.metrics.ColumnBytes;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.LatencyCounts;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.spark.status.api.v1.sluice.JakartaSluiceResource;
import org.apache.spark.status.api.v1.sluice.JakartaSluiceRoot;
import org.apache.spark.status.api.v1.sluice.JavaxSluiceResource;
import org.apache.spark.status.api.v1.sluice.JavaxSluiceRoot;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.Yaml;

/**
 * {@code docs/rest-api.yml} describes the addresses and fields that there are, and the resources for Spark 3 and for
 * Spark 4 are the same.
 */
class RestDescriptionTest {
  private static final String OF_APPLICATION = "/applications/{appId}/sluice";

  @SuppressWarnings("unchecked")
  private static Map<String, Object> description() throws IOException {
    return (Map<String, Object>) new Yaml()
        .load(Files.readString(Path.of(System.getProperty("sluice.repository"), "docs", "rest-api.yml")));
  }

  /** Its address below the application's, by the name of its method. */
  private static Map<String, String> addresses() {
    Map<String, String> addresses = new TreeMap<>();
    for (Method method : JakartaSluiceResource.class.getDeclaredMethods()) {
      if (method.isAnnotationPresent(jakarta.ws.rs.GET.class)) {
        jakarta.ws.rs.Path path = method.getAnnotation(jakarta.ws.rs.Path.class);
        addresses.put(method.getName(), path == null ? "" : "/" + path.value().replaceAll(": [^}]*", ""));
      }
    }
    return addresses;
  }

  @Test
  @SuppressWarnings("unchecked")
  void everyAddressIsDescribed() throws IOException {
    Map<String, String> described = new TreeMap<>();
    ((Map<String, Map<String, Map<String, Object>>>) description().get("paths")).forEach((path, operations) -> {
      assertEquals(Set.of("get"), operations.keySet(), path);
      assertTrue(path.startsWith(OF_APPLICATION), path);
      described.put((String) operations.get("get").get("operationId"), path.substring(OF_APPLICATION.length()));
    });
    assertEquals(addresses(), described);
    assertEquals(5, described.size());
  }

  @Test
  void theResourcesOfSpark3And4AreTheSame() {
    assertEquals(shape(JakartaSluiceRoot.class), shape(JavaxSluiceRoot.class));
    assertEquals(shape(JakartaSluiceResource.class), shape(JavaxSluiceResource.class));
    assertTrue(shape(JakartaSluiceRoot.class).toString().contains("applications/{appId}/sluice"));
  }

  /** Class and methods with all annotations; the two interfaces differ in the beginning of their packages' names. */
  private static List<String> shape(Class<?> resource) {
    List<String> lines = new ArrayList<>();
    lines.add(Arrays.toString(resource.getAnnotations()));
    for (Method method : resource.getMethods()) {
      if (method.getDeclaringClass() == resource) {
        lines.add(method.getName() + Arrays.toString(method.getAnnotations()) + Arrays.stream(method.getParameters())
            .map(Parameter::getAnnotations).map(Arrays::toString).collect(Collectors.joining()));
      }
    }
    return lines.stream().map(line -> line.replace("jakarta.", "javax.")).sorted().toList();
  }

  @Test
  void everyFieldIsDescribed() throws IOException {
    TestRows rows = new TestRows(100);
    rows.registered(1);
    rows.summary(1, 0, Map.of(Counter.WRITE_RECORDS, 7L));
    rows.fallback(2, "DISABLED", "spark.sluice.enabled is false");
    rows.executor("1", "host", true, "fine", Map.of("memory.usedBytes", 9L));
    LatencyCounts counts = new LatencyCounts(new long[] {1}, 5, 5);
    rows.fetched("1", counts, "2", counts);
    rows.listener.onOtherEvent(ShuffleColumns.of(2, 1, List.of(new ColumnBytes(0, 9, new long[] {1}))));
    StatusAnswers answers = StatusAnswers.of(rows.kvStore).orElseThrow();
    assertEquals(fields("Overview"), answers.overview().keySet());
    Map<String, Object> shuffle = answers.shuffle(2).orElseThrow();
    assertEquals(fields("Shuffle"), shuffle.keySet());
    assertEquals(fields("Column"), ((Map<?, ?>) ((List<?>) shuffle.get("columns")).get(0)).keySet());
    Map<String, Object> executor = answers.executors().get(0);
    assertEquals(fields("Fetches"), ((Map<?, ?>) executor.get("fetches")).keySet());
    assertEquals(fields("SlowPeer"), ((Map<?, ?>) ((List<?>) executor.get("slowestPeers")).get(0)).keySet());
    assertEquals(fields("Peers"), ((Map<?, ?>) executor.get("peers")).keySet());
    assertTrue(fields("Shuffle").containsAll(answers.shuffle(1).orElseThrow().keySet()));
    assertEquals(fields("Executor"), answers.executors().get(0).keySet());
    assertEquals(Map.of("write.records", 7L), answers.shuffle(1).orElseThrow().get("figures"));
    assertEquals(1, answers.diagnosis().size());
  }

  @Test
  void shufflesAreReadInParts() {
    TestRows rows = new TestRows(100);
    for (int i = 0; i < 5; i++) {
      rows.registered(i);
    }
    StatusAnswers answers = StatusAnswers.of(rows.kvStore).orElseThrow();
    assertEquals(List.of(2, 3), answers.shuffles(2, 2).stream().map(row -> row.get("shuffleId")).toList());
    assertEquals(5, answers.shuffles(0, Integer.MAX_VALUE).size());
    assertEquals(List.of(), answers.shuffles(9, 2));
    assertTrue(answers.shuffle(9).isEmpty());
  }

  @Test
  void aStoreWithoutSluiceHasNoAnswers() {
    assertTrue(StatusAnswers.of(new TestRows(1).kvStore).isEmpty());
  }

  @SuppressWarnings("unchecked")
  private static Set<String> fields(String schema) throws IOException {
    Map<String, Object> components = (Map<String, Object>) description().get("components");
    Map<String, Object> found =
        ((Map<String, Map<String, Object>>) components.get("schemas")).get(schema);
    Set<String> fields = new TreeSet<>(((Map<String, Object>) found.get("properties")).keySet());
    assertTrue(fields.containsAll(new HashSet<>((List<String>) found.get("required"))), schema);
    return fields;
  }
}
