package io.sluice.advisor.log;

import com.fasterxml.jackson.core.JsonParser;
import io.sluice.advisor.model.ShuffleInput;
import io.sluice.advisor.model.SqlMetric;
import io.sluice.advisor.model.StageInfo;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Reads what {@code SparkListenerStageSubmitted} and {@code SparkListenerStageCompleted} say of a stage. */
final class StageParser {
  private static final int NAME_LIMIT = 200;
  /** RDDs, parents and metrics of one stage that are kept; a hostile log may name millions. */
  private static final int MANY = 1_000;
  private static final List<String> SHUFFLE_READERS =
      List.of("ShuffledRDD", "ShuffledRowRDD", "CoGroupedRDD", "SubtractedRDD");
  private static final Set<String> PYTHON = Set.of("PythonRDD", "PairwiseRDD");

  private final JsonParser json;
  private final StageInfo stage = new StageInfo();

  private StageParser(JsonParser json) {
    this.json = json;
  }

  /** The stage of the event whose name has been read. */
  static StageInfo event(JsonParser json) throws IOException {
    StageParser parser = new StageParser(json);
    EventParser.rest(json, name -> {
      if (name.equals("Stage Info")) {
        JsonFields.ofObject(json, parser::field);
      }
    });
    return parser.stage;
  }

  private void field(String name) throws IOException {
    switch (name) {
      case "Stage ID" -> stage.id = JsonFields.id(json);
      case "Stage Attempt ID" -> stage.attempt = JsonFields.id(json);
      case "Stage Name" -> stage.name = JsonFields.text(json, NAME_LIMIT);
      case "Number of Tasks" -> stage.tasks = JsonFields.number(json);
      case "Submission Time" -> stage.submittedMs = JsonFields.number(json);
      case "Completion Time" -> stage.completedMs = JsonFields.number(json);
      case "Parent IDs" -> ids(stage.parents);
      case "RDD Info" -> JsonFields.ofArray(json, element -> rdd());
      case "Accumulables" -> JsonFields.ofArray(json, element -> accumulable());
      default -> {}
    }
  }

  private void ids(List<Integer> into) throws IOException {
    JsonFields.ofArray(json, element -> {
      if (into.size() < MANY) {
        into.add(JsonFields.id(json));
      }
    });
  }

  /** The first RDD is the one that the stage computes. */
  private void rdd() throws IOException {
    int[] id = {-1};
    String[] names = {"", ""};
    long[] partitions = {0};
    List<Integer> parents = new ArrayList<>();
    JsonFields.ofObject(json, field -> {
      switch (field) {
        case "RDD ID" -> id[0] = JsonFields.id(json);
        case "Name" -> names[0] = JsonFields.text(json, NAME_LIMIT);
        case "Scope" -> names[1] = operation(JsonFields.text(json, NAME_LIMIT));
        case "Parent IDs" -> ids(parents);
        case "Number of Partitions" -> partitions[0] = JsonFields.number(json);
        default -> {}
      }
    });
    if (stage.outputRdd < 0) {
      stage.outputRdd = id[0];
    }
    stage.python |= PYTHON.contains(names[0]);
    int reader = SHUFFLE_READERS.indexOf(names[0]);
    if (reader >= 0 && stage.inputs.size() < MANY) {
      stage.inputs.add(
          new ShuffleInput(SHUFFLE_READERS.get(reader), names[1], List.copyOf(parents), partitions[0]));
    }
  }

  /** The scope is JSON in text: {@code {"id":"7","name":"reduceByKey"}}. */
  private static String operation(String scope) {
    String key = "\"name\":\"";
    int start = scope.indexOf(key);
    int end = start < 0 ? -1 : scope.indexOf('"', start + key.length());
    return end < 0 ? "" : scope.substring(start + key.length(), end);
  }

  private void accumulable() throws IOException {
    long[] numbers = {-1, 0};
    String[] name = {""};
    JsonFields.ofObject(json, field -> {
      switch (field) {
        case "ID" -> numbers[0] = JsonFields.number(json);
        case "Name" -> name[0] = JsonFields.text(json, NAME_LIMIT);
        case "Value" -> numbers[1] = JsonFields.number(json);
        default -> {}
      }
    });
    if (SqlMetric.isKnown(name[0]) && stage.metrics.size() < MANY) {
      stage.metrics.add(new SqlMetric(numbers[0], name[0], numbers[1]));
    }
  }
}
