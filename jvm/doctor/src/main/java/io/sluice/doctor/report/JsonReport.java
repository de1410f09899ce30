package io.sluice.doctor.report;

import io.sluice.doctor.check.Finding;
import io.sluice.doctor.mode.ModeVerdict;

/** The report for programs. */
public final class JsonReport {
  private JsonReport() {}

  public static String render(Report report) {
    JsonWriter json = new JsonWriter().beginObject();
    json.name("sluice").value(report.version()).name("machine").value(report.machine());
    json.name("findings").beginArray();
    report.findings().forEach(finding -> finding(json, finding));
    json.endArray().name("modes").beginArray();
    report.modes().forEach(verdict -> mode(json, verdict));
    json.endArray().name("asked").beginArray();
    report.asked().forEach(mode -> json.value(mode.name()));
    return json.endArray().name("usable").value(report.usable()).endObject().document();
  }

  private static void finding(JsonWriter json, Finding finding) {
    json.beginObject().name("subject").value(finding.subject().id()).name("group")
        .value(finding.subject().group().title())
        .name("verdict").value(finding.verdict().word()).name("text").value(finding.text());
    next(json, finding.next()).endObject();
  }

  private static void mode(JsonWriter json, ModeVerdict verdict) {
    json.beginObject().name("mode").value(verdict.mode().name()).name("state").value(verdict.state().id())
        .name("usable").value(verdict.state().usable()).name("text").value(verdict.words()).name("reasons")
        .beginArray();
    for (ModeVerdict.Reason reason : verdict.reasons()) {
      next(json.beginObject().name("text").value(reason.text()), reason.next()).endObject();
    }
    json.endArray().endObject();
  }

  private static JsonWriter next(JsonWriter json, String next) {
    return next.isEmpty() ? json : json.name("next").value(next);
  }
}
