package io.sluice.spark.ui;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.sluice.spark.LocalSpark;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The tab in the UI of a running application. */
class LiveTabTest {
  private LocalSpark spark;

  private void start(Map<String, String> more) throws TimeoutException {
    Map<String, String> settings = new HashMap<>(
        Map.of("spark.ui.enabled", "true", "spark.ui.port", "0", "spark.app.name", "<script>alert(1)</script>"));
    settings.putAll(more);
    spark = LocalSpark.start(settings);
    assertEquals(1000, spark.session().range(1000).repartition(5, col("id")).collectAsList().size());
    for (int queue = 0; queue < 2; queue++) {
      spark.session().sparkContext().listenerBus().waitUntilEmpty(60_000);
    }
  }

  private HttpResponse<String> get(String path) throws IOException, InterruptedException {
    int port = URI.create(spark.session().sparkContext().uiWebUrl().get()).getPort();
    HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build();
    return HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build()
        .send(request, HttpResponse.BodyHandlers.ofString());
  }

  private String page(String path) throws IOException, InterruptedException {
    HttpResponse<String> response = get(path);
    assertEquals(200, response.statusCode(), response::body);
    return response.body();
  }

  @AfterEach
  void stop() {
    if (spark != null) {
      spark.close();
    }
  }

  @Test
  void theTabShowsTheApplicationsShuffles() throws Exception {
    start(Map.of());
    assertTrue(page("/jobs/").contains("/sluice/"), "the tab is in the header of Spark's own pages");
    String overview = page("/sluice/");
    assertTrue(overview.contains("Rows written</th><td>1,000</td>"), overview);
    assertTrue(overview.contains("spark.sluice.memory.failOnLeak</th><td>true"), overview);
    String shuffles = page("/sluice/shuffles/?sort=rows&desc=true");
    assertTrue(shuffles.contains("<tr id=\"shuffle-0\">"), shuffles);
    assertTrue(shuffles.contains("../../stages/stage/?id=0&amp;attempt=0"), shuffles);
    page("/stages/stage/?id=0&attempt=0");
    assertTrue(page("/sluice/executors/").contains("<td>driver</td>"));
    assertTrue(page("/sluice/diagnosis/").contains("Nothing stands out"));
    assertTrue(shuffles.contains("../timeline/?id=0"), shuffles);
    assertTrue(shuffles.contains("field 1: "), "encodings: " + shuffles);
    String timeline = page("/sluice/timeline/?id=0");
    assertTrue(timeline.contains("Stage 0.0 writes it</h5>") && timeline.contains(" reads it</h5>"), timeline);
    assertTrue(timeline.contains("<svg role=\"img\" aria-label=\"Stage 0.0 writes it"), timeline);
    assertTrue(timeline.contains("How its columns are encoded"), timeline);
    assertTrue(page("/sluice/timeline/").contains("<h4>Shuffle 0</h4>"), "the newest shuffle is shown first");
    for (String path : new String[] {"/sluice", "/sluice/", "/sluice/shuffles/", "/sluice/executors/",
      "/sluice/timeline/", "/sluice/timeline/?id=<script>alert(1)</script>".replace("<", "%3C").replace(">", "%3E")}) {
      assertFalse(page(path).contains("<script>alert"), path);
    }
  }

  @Test
  void sparksRestInterfaceHasTheSameFigures() throws Exception {
    start(Map.of());
    String sluice = "/api/v1/applications/" + spark.session().sparkContext().applicationId() + "/sluice";
    JsonNode overview = new ObjectMapper().readTree(page(sluice));
    assertEquals(1000, overview.get("totals").get("write.records").asLong());
    assertEquals(1, overview.get("shufflesByPath").get("SQL_ROWS").asLong());
    JsonNode shuffles = new ObjectMapper().readTree(page(sluice + "/shuffles?offset=0&length=5"));
    assertEquals(5, shuffles.get(0).get("partitions").asInt());
    assertEquals(shuffles.get(0), new ObjectMapper().readTree(page(sluice + "/shuffles/0")));
    assertEquals("driver", new ObjectMapper().readTree(page(sluice + "/executors")).get(0).get("executorId").asText());
    assertEquals("[ ]", page(sluice + "/diagnosis"));
    assertTrue(page(sluice.replace("/sluice", "/jobs")).contains("\"jobId\""), "Spark's own resources are there");
  }

  @Test
  void wrongNumbersAndNamesAreNotFoundAsInSparksOwnInterface() throws Exception {
    start(Map.of());
    String application = "/api/v1/applications/" + spark.session().sparkContext().applicationId();
    assertNotFound("unknown shuffle: 77", application + "/sluice/shuffles/77");
    assertNotFound("no such app: app-0", "/api/v1/applications/app-0/sluice");
    assertNotFound(get("/api/v1/applications/app-0/jobs").body(), "/api/v1/applications/app-0/sluice");
    for (String wrong : List.of("/sluice/shuffles/x", "/sluice/shuffles/99999999999", "/sluice/nothing")) {
      assertEquals(404, get(application + wrong).statusCode(), wrong);
    }
  }

  private void assertNotFound(String message, String path) throws IOException, InterruptedException {
    HttpResponse<String> response = get(path);
    assertEquals(404, response.statusCode(), path);
    assertEquals(message, response.body());
  }

  /** Spark takes the next port; the tab is there as its other pages are. */
  @Test
  void aPortThatIsTakenHarmsNothing() throws Exception {
    try (ServerSocket other = new ServerSocket(0)) {
      start(Map.of("spark.ui.port", Integer.toString(other.getLocalPort())));
      assertTrue(page("/sluice/").contains("Rows written</th><td>1,000</td>"));
    }
  }

  @Test
  void theSettingSwitchesTheTabOff() throws Exception {
    start(Map.of("spark.sluice.ui.enabled", "false"));
    assertFalse(get("/sluice/").body().contains("Rows written"));
    assertFalse(page("/jobs/").contains("/sluice/"));
  }
}
