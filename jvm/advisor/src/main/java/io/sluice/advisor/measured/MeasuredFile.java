package io.sluice.advisor.measured;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.sluice.advisor.log.JsonFields;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What {@code ./sluice bench --json} wrote: the seconds of every counted run, by workload, of the engines {@code stock}
 * and {@code sluice}.
 *
 * @param stock runs on Spark's own shuffle, in order
 * @param sluice runs on Sluice
 */
public record MeasuredFile(Map<String, List<Double>> stock, Map<String, List<Double>> sluice) {
  private static final int NAME_LIMIT = 100;

  /** The file is not such a file. The message is a sentence for the user. */
  public static final class UnusableException extends Exception {
    private static final long serialVersionUID = 1L;

    UnusableException(String message) {
      super(message);
    }
  }

  /** @throws UnusableException if it cannot be read, or has no workload on both engines */
  public static MeasuredFile read(Path file) throws UnusableException {
    MeasuredFile measured = new MeasuredFile(new LinkedHashMap<>(), new LinkedHashMap<>());
    try (InputStream in = Files.newInputStream(file); JsonParser json = JsonFields.FACTORY.createParser(in)) {
      if (json.nextToken() != JsonToken.START_ARRAY) {
        throw new UnusableException(file + ": not what ./sluice bench --json writes");
      }
      JsonFields.ofArray(json, element -> measured.result(json));
    } catch (IOException e) {
      throw new UnusableException(file + ": cannot be read: " + e.getMessage());
    }
    if (measured.stock.keySet().stream().noneMatch(measured.sluice::containsKey)) {
      throw new UnusableException(file + ": has no workload that was measured with stock and sluice");
    }
    return measured;
  }

  private void result(JsonParser json) throws IOException {
    String[] names = {"", ""};
    List<Double> runs = new ArrayList<>();
    JsonFields.ofObject(json, field -> {
      switch (field) {
        case "workload" -> names[0] = JsonFields.text(json, NAME_LIMIT);
        case "engine" -> names[1] = JsonFields.text(json, NAME_LIMIT);
        case "runs_s" -> JsonFields.ofArray(json, run -> runs.add(JsonFields.fraction(json)));
        default -> {}
      }
    });
    if (runs.isEmpty() || runs.stream().anyMatch(seconds -> !(seconds > 0))) {
      return;
    }
    if (names[1].equals("stock")) {
      stock.put(names[0], runs);
    } else if (names[1].equals("sluice")) {
      sluice.put(names[0], runs);
    }
  }
}
