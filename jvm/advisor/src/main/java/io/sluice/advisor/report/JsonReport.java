package io.sluice.advisor.report;

import com.fasterxml.jackson.core.JsonGenerator;
import io.sluice.advisor.estimate.Advice;
import io.sluice.advisor.estimate.ApplicationEstimate;
import io.sluice.advisor.estimate.Confidence;
import io.sluice.advisor.estimate.Part;
import io.sluice.advisor.estimate.ShuffleEstimate;
import io.sluice.advisor.estimate.ShuffleKind;
import io.sluice.advisor.estimate.StageEstimate;
import io.sluice.advisor.log.JsonFields;
import io.sluice.advisor.log.LogHealth;
import io.sluice.advisor.model.Stage;
import io.sluice.advisor.model.TaskFigure;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The report for programs: every stage and shuffle of every application. Times are seconds, sizes bytes. */
public final class JsonReport {
  private static final double ROUND = 1000;

  private final JsonGenerator json;

  private JsonReport(JsonGenerator json) {
    this.json = json;
  }

  /** Writes the report in UTF-8, stage by stage: that of a large application is larger than its estimate. */
  public static void write(AdviceReport report, OutputStream out) throws IOException {
    try (JsonGenerator json = JsonFields.FACTORY.createGenerator(out).useDefaultPrettyPrinter()) {
      new JsonReport(json).report(report);
      json.writeRaw('\n');
    }
  }

  private void report(AdviceReport report) throws IOException {
    json.writeStartObject();
    json.writeStringField("sluice", report.version());
    json.writeArrayFieldStart("applications");
    for (ApplicationEstimate estimate : report.applications()) {
      application(estimate);
    }
    json.writeEndArray();
    texts("problems", report.problems());
    json.writeEndObject();
  }

  private void application(ApplicationEstimate estimate) throws IOException {
    Advice advice = Advice.of(estimate);
    json.writeStartObject();
    json.writeStringField("log", estimate.application().log());
    json.writeStringField("id", estimate.application().id());
    json.writeStringField("name", estimate.application().name());
    json.writeStringField("spark", estimate.application().sparkVersion());
    json.writeStringField("java", estimate.application().javaVersion());
    json.writeNumberField("executors", estimate.application().executors());
    json.writeNumberField("cores", estimate.application().cores());
    json.writeBooleanField("on_sluice", estimate.onSluice());
    prediction(estimate);
    confidence(estimate.confidence());
    json.writeStringField("advice", advice.verdict());
    texts("no_gain", advice.noGain());
    json.writeObjectFieldStart("settings");
    for (Map.Entry<String, String> setting : advice.settings().entrySet()) {
      json.writeStringField(setting.getKey(), setting.getValue());
    }
    json.writeEndObject();
    json.writeStringField("settings_note", advice.settingsNote());
    health(estimate.application().health());
    stages(estimate);
    shuffles(estimate);
    json.writeEndObject();
  }

  private void prediction(ApplicationEstimate estimate) throws IOException {
    number("seconds", estimate.beforeS());
    number("seconds_with_sluice", estimate.afterS());
    number("times_as_fast", estimate.speedup());
    number("times_as_fast_low", estimate.lowestSpeedup());
    number("times_as_fast_high", estimate.highestSpeedup());
    number("task_s", estimate.taskS());
    number("task_s_with_sluice", estimate.taskS() - estimate.savedS(null));
    json.writeObjectFieldStart("saved_task_s");
    for (Part part : Part.values()) {
      number(name(part), estimate.savedS(part));
    }
    json.writeEndObject();
    json.writeNumberField("shuffle_write_bytes", estimate.bytesBefore());
    json.writeNumberField("shuffle_write_bytes_with_sluice", estimate.bytesAfter());
  }

  private void confidence(Confidence confidence) throws IOException {
    json.writeStringField("confidence", confidence.level().word());
    texts("doubts", confidence.doubts());
  }

  private void health(LogHealth health) throws IOException {
    json.writeObjectFieldStart("read");
    json.writeNumberField("events", health.events());
    json.writeNumberField("damaged_lines", health.damagedLines());
    json.writeNumberField("long_lines", health.longLines());
    json.writeStringField("fault", health.fault());
    json.writeEndObject();
  }

  private void stages(ApplicationEstimate estimate) throws IOException {
    json.writeArrayFieldStart("stages");
    for (StageEstimate each : estimate.stages()) {
      Stage stage = each.stage();
      json.writeStartObject();
      json.writeNumberField("stage", stage.id());
      json.writeNumberField("attempt", stage.attempt());
      json.writeStringField("name", stage.name());
      json.writeNumberField("tasks", stage.totals().tasks());
      number("task_s", stage.totals().runS());
      number("task_s_with_sluice", each.runS());
      number("cpu_s", stage.totals().cpuS());
      number("sort_s", stage.sortS());
      json.writeObjectFieldStart("saved_task_s");
      for (Map.Entry<Part, Double> saved : each.savedS().entrySet()) {
        number(name(saved.getKey()), saved.getValue());
      }
      json.writeEndObject();
      kind("reads", each.read().orElse(null));
      json.writeNumberField("read_records", stage.totals().sum(TaskFigure.READ_RECORDS));
      json.writeNumberField("read_bytes", stage.totals().readBytes());
      confidence(each.confidence());
      texts("reasons", each.reasons());
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  /** A shuffle by the stage that writes it. */
  private void shuffles(ApplicationEstimate estimate) throws IOException {
    json.writeArrayFieldStart("shuffles");
    for (ShuffleEstimate shuffle : estimate.shuffles()) {
      json.writeStartObject();
      shuffle(shuffle);
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  private void shuffle(ShuffleEstimate shuffle) throws IOException {
    StageEstimate each = shuffle.writer();
    json.writeNumberField("written_by_stage", each.stage().id());
    json.writeNumberField("attempt", each.stage().attempt());
    json.writeArrayFieldStart("read_by_stages");
    for (int reader : each.readers()) {
      json.writeNumber(reader);
    }
    json.writeEndArray();
    kind("moves", each.written().get());
    if (each.stage().exchange() != null) {
      json.writeStringField("partitioning",
          each.stage().exchange().partitioning().name().toLowerCase(Locale.ROOT));
    }
    json.writeNumberField("partitions", each.partitions());
    json.writeNumberField("records", each.stage().totals().sum(TaskFigure.WRITTEN_RECORDS));
    json.writeNumberField("bytes", each.stage().totals().sum(TaskFigure.WRITTEN_BYTES));
    json.writeNumberField("bytes_with_sluice", each.bytesWritten());
    number("saved_task_s", shuffle.savedInAllS());
    number("saved_writing_s", shuffle.savedWritingS());
    json.writeObjectFieldStart("saved_reading_s_by_stage");
    for (Map.Entry<Integer, Double> reader : shuffle.savedReadingS().entrySet()) {
      number(reader.getKey().toString(), reader.getValue());
    }
    json.writeEndObject();
    confidence(shuffle.confidence());
  }

  private void kind(String field, ShuffleKind kind) throws IOException {
    json.writeStringField(field, kind == null ? "" : kind.name().toLowerCase(Locale.ROOT));
  }

  private static String name(Part part) {
    return part.name().toLowerCase(Locale.ROOT);
  }

  private void texts(String field, List<String> texts) throws IOException {
    json.writeArrayFieldStart(field);
    for (String text : texts) {
      json.writeString(text);
    }
    json.writeEndArray();
  }

  /** Milliseconds and thousandths are as fine as anything here is. */
  private void number(String field, double value) throws IOException {
    json.writeNumberField(field, Math.round(value * ROUND) / ROUND);
  }
}
