package io.sluice.bench.report;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.sluice.bench.protocol.Json;
import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Reads what {@code ./sluice bench --json} wrote, also by earlier versions, which had fewer fields. */
public final class ResultFile {

  /** What every version wrote, and reports need. */
  private static final List<String> REQUIRED = List.of("workload", "engine", "spark", "rows", "runs_s", "median_s",
      "shuffle_write_bytes", "shuffle_read_bytes", "spilled_bytes", "cpu_s", "gc_s", "checksum", "environment");
  private static final List<String> REQUIRED_OF_ENVIRONMENT = List.of("command", "started", "cpu", "java", "master");

  private ResultFile() {}

  /**
   * The results in {@code file}, in their order.
   *
   * @throws IllegalArgumentException naming the file and what is wrong with it: missing, not JSON, not a list of
   *     results, without results, a result without a field that is needed
   */
  public static List<BenchResult> read(Path file) {
    try {
      return results(JsonParser.parseString(Files.readString(file)));
    } catch (NoSuchFileException e) {
      throw new IllegalArgumentException(file + ": there is no such file", e);
    } catch (MalformedInputException | JsonParseException e) {
      throw new IllegalArgumentException(file + ": not the JSON that ./sluice bench writes: " + e.getMessage(), e);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(file + ": " + e.getMessage(), e);
    } catch (IOException e) {
      throw new IllegalArgumentException(file + ": cannot be read: " + e.getMessage(), e);
    }
  }

  private static List<BenchResult> results(JsonElement json) {
    if (!(json instanceof JsonArray array) || array.isEmpty()) {
      throw new IllegalArgumentException("not a list of results, as ./sluice bench --json writes it");
    }
    List<BenchResult> results = new ArrayList<>();
    for (JsonElement element : array) {
      results.add(result(element, results.size() + 1));
    }
    return results;
  }

  private static BenchResult result(JsonElement element, int number) {
    if (!(element instanceof JsonObject object)) {
      throw new IllegalArgumentException("result " + number + " is not an object");
    }
    require(object, REQUIRED, "result " + number);
    if (!(object.get("environment") instanceof JsonObject environment)) {
      throw new IllegalArgumentException("the environment of result " + number + " is not an object");
    }
    require(environment, REQUIRED_OF_ENVIRONMENT, "the environment of result " + number);
    BenchResult result = Json.parse(object.toString(), BenchResult.class);
    if (result.runsS().isEmpty()) {
      throw new IllegalArgumentException("result " + number + " has no runs");
    }
    return result;
  }

  private static void require(JsonObject object, List<String> fields, String what) {
    for (String field : fields) {
      if (!object.has(field) || object.get(field).isJsonNull()) {
        throw new IllegalArgumentException(what + " has no field " + field);
      }
    }
  }
}
