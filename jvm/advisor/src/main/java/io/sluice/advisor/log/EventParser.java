package io.sluice.advisor.log;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.sluice.advisor.model.ApplicationBuilder;
import io.sluice.advisor.model.JobStart;
import io.sluice.advisor.model.TaskEnd;
import io.sluice.advisor.model.TaskFigure;
import java.io.IOException;
import java.io.InputStream;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Reads one event a line, as Spark's {@code JsonProtocol} writes them since 3.0, and tells the
 * {@link ApplicationBuilder}. An event is told when it has been read to its end, so one that is cut changes nothing.
 * Events that no estimate needs, such as task starts, are left unread behind their name.
 */
final class EventParser {
  private static final String SQL = "org.apache.spark.sql.execution.ui.SparkListener";
  private static final int NAME_LIMIT = 200;
  private static final int VALUE_LIMIT = 1_000;
  private static final int MAX_SETTINGS = 10_000;

  private final ApplicationBuilder application;

  EventParser(ApplicationBuilder application) {
    this.application = application;
  }

  /**
   * Reads the event in {@code line}.
   *
   * @return false if there is none, but other JSON or an empty line
   * @throws IOException if the line is no JSON or too long
   */
  boolean parse(InputStream line) throws IOException {
    try (JsonParser json = JsonFields.FACTORY.createParser(line)) {
      if (json.nextToken() != JsonToken.START_OBJECT || json.nextToken() != JsonToken.FIELD_NAME
          || !json.currentName().equals("Event") || json.nextToken() != JsonToken.VALUE_STRING) {
        return false;
      }
      String event = json.getText();
      if (event.startsWith(SQL)) {
        sqlEvent(event.substring(SQL.length()), json);
      } else {
        coreEvent(event, json);
      }
      return event.startsWith("SparkListener") || event.startsWith("org.apache.spark.");
    }
  }

  private void coreEvent(String event, JsonParser json) throws IOException {
    switch (event) {
      case "SparkListenerTaskEnd" -> taskEnd(json);
      case "SparkListenerStageSubmitted" -> application.stageSubmitted(StageParser.event(json));
      case "SparkListenerStageCompleted" -> application.stageCompleted(StageParser.event(json));
      case "SparkListenerJobStart" -> jobStart(json);
      case "SparkListenerJobEnd" -> jobEnd(json);
      case "SparkListenerExecutorAdded" -> executorAdded(json);
      case "SparkListenerExecutorRemoved" -> executorRemoved(json);
      case "SparkListenerEnvironmentUpdate" -> environment(json);
      case "SparkListenerApplicationStart" -> applicationStart(json);
      case "SparkListenerApplicationEnd" -> applicationEnd(json);
      case "SparkListenerLogStart" -> logStart(json);
      default -> {}
    }
  }

  private void sqlEvent(String event, JsonParser json) throws IOException {
    switch (event) {
      case "SQLExecutionStart", "SQLAdaptiveExecutionUpdate" -> {
        PlanParser plan = PlanParser.event(json);
        application.plan(plan.execution(), plan.startedMs(), plan.exchanges());
      }
      case "SQLExecutionEnd" -> executionEnd(json);
      default -> {}
    }
  }

  /** Gives the fields behind the event's name. */
  static void rest(JsonParser json, JsonFields.Handler handler) throws IOException {
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String name = json.currentName();
      json.nextToken();
      handler.value(name);
      json.skipChildren();
    }
    if (json.currentToken() != JsonToken.END_OBJECT) {
      throw new IOException("the event does not end");
    }
  }

  private void taskEnd(JsonParser json) throws IOException {
    TaskEnd task = new TaskEnd();
    rest(json, name -> {
      switch (name) {
        case "Stage ID" -> task.stage(JsonFields.id(json));
        case "Stage Attempt ID" -> task.attempt(JsonFields.id(json));
        case "Task End Reason" -> JsonFields.ofObject(json, field -> {
          if (field.equals("Reason")) {
            task.succeeded(json.getText().equals("Success"));
          }
        });
        case "Task Info" -> JsonFields.ofObject(json, field -> {
          switch (field) {
            case "Launch Time" -> task.launchedMs(JsonFields.number(json));
            case "Finish Time" -> task.finishedMs(JsonFields.number(json));
            default -> {}
          }
        });
        case "Task Metrics" -> metrics(json, task);
        default -> {}
      }
    });
    application.taskEnded(task);
  }

  private static void metrics(JsonParser json, TaskEnd task) throws IOException {
    JsonFields.ofObject(json, name -> {
      if (json.currentToken() == JsonToken.START_OBJECT) {
        JsonFields.ofObject(json, field -> figure(json, name, field, task));
      } else {
        figure(json, "", name, task);
      }
    });
  }

  private static void figure(JsonParser json, String section, String field, TaskEnd task) throws IOException {
    TaskFigure figure = TaskFigure.of(section, field);
    if (figure != null) {
      task.set(figure, JsonFields.number(json));
    }
  }

  private void jobStart(JsonParser json) throws IOException {
    JobStart job = new JobStart();
    rest(json, name -> {
      switch (name) {
        case "Job ID" -> job.id(JsonFields.id(json));
        case "Submission Time" -> job.submittedMs(JsonFields.number(json));
        case "Properties" -> JsonFields.ofObject(json, key -> {
          switch (key) {
            case "spark.jobGroup.id" -> job.group(JsonFields.text(json, NAME_LIMIT));
            case "spark.sql.execution.id" -> job.execution(JsonFields.number(json));
            default -> {}
          }
        });
        default -> {}
      }
    });
    application.jobStarted(job);
  }

  private void jobEnd(JsonParser json) throws IOException {
    long[] completed = {-1, 0};
    rest(json, name -> {
      switch (name) {
        case "Job ID" -> completed[0] = JsonFields.id(json);
        case "Completion Time" -> completed[1] = JsonFields.number(json);
        default -> {}
      }
    });
    application.jobEnded((int) completed[0], completed[1]);
  }

  private void executionEnd(JsonParser json) throws IOException {
    long[] ended = {-1, 0};
    rest(json, name -> {
      switch (name) {
        case "executionId" -> ended[0] = JsonFields.number(json);
        case "time" -> ended[1] = JsonFields.number(json);
        default -> {}
      }
    });
    application.executionEnded(ended[0], ended[1]);
  }

  private void executorAdded(JsonParser json) throws IOException {
    String[] id = {""};
    long[] cores = {0};
    rest(json, name -> {
      switch (name) {
        case "Executor ID" -> id[0] = JsonFields.text(json, NAME_LIMIT);
        case "Executor Info" -> JsonFields.ofObject(json, field -> {
          if (field.equals("Total Cores")) {
            cores[0] = JsonFields.number(json);
          }
        });
        default -> {}
      }
    });
    application.executorAdded(id[0], cores[0]);
  }

  private void executorRemoved(JsonParser json) throws IOException {
    String[] id = {""};
    rest(json, name -> {
      if (name.equals("Executor ID")) {
        id[0] = JsonFields.text(json, NAME_LIMIT);
      }
    });
    application.executorRemoved(id[0]);
  }

  private void environment(JsonParser json) throws IOException {
    Map<String, String> settings = new LinkedHashMap<>();
    String[] java = {""};
    rest(json, name -> {
      switch (name) {
        case "JVM Information" -> JsonFields.ofObject(json, field -> {
          if (field.equals("Java Version")) {
            java[0] = JsonFields.text(json, NAME_LIMIT);
          }
        });
        case "Spark Properties" -> JsonFields.ofObject(json, key -> {
          if (settings.size() < MAX_SETTINGS) {
            settings.put(CleanText.of(key, NAME_LIMIT), JsonFields.text(json, VALUE_LIMIT));
          }
        });
        default -> {}
      }
    });
    application.environment(java[0], settings);
  }

  private void applicationStart(JsonParser json) throws IOException {
    String[] names = {"", ""};
    long[] started = {0};
    rest(json, name -> {
      switch (name) {
        case "App Name" -> names[0] = JsonFields.text(json, NAME_LIMIT);
        case "App ID" -> names[1] = JsonFields.text(json, NAME_LIMIT);
        case "Timestamp" -> started[0] = JsonFields.number(json);
        default -> {}
      }
    });
    application.started(names[0], names[1], started[0]);
  }

  private void applicationEnd(JsonParser json) throws IOException {
    long[] ended = {0};
    rest(json, name -> {
      if (name.equals("Timestamp")) {
        ended[0] = JsonFields.number(json);
      }
    });
    application.ended(ended[0]);
  }

  private void logStart(JsonParser json) throws IOException {
    String[] version = {""};
    rest(json, name -> {
      if (name.equals("Spark Version")) {
        version[0] = JsonFields.text(json, NAME_LIMIT);
      }
    });
    application.sparkVersion(version[0]);
  }
}
