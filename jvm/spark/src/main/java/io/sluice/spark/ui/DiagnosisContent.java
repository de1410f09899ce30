package io.sluice.spark.ui;

import java.util.List;
import java.util.function.UnaryOperator;

/** Why not more: sentences about shuffles and executors that stand out. */
final class DiagnosisContent implements PageContent {
  private final StatusStore store;

  DiagnosisContent(StatusStore store) {
    this.store = store;
  }

  @Override
  public String path() {
    return "diagnosis";
  }

  @Override
  public String title() {
    return "Diagnosis";
  }

  @Override
  public String html(UnaryOperator<String> parameters) {
    List<String> sentences = new Diagnosis(store.application(), store.shuffles(), store.executors()).sentences();
    Html html = new Html();
    if (sentences.isEmpty()) {
      html.raw(
          "<p>Nothing stands out: no shuffle went another way than the settings ask for, spilled, or waited long, and ")
          .raw("no executor that has reported lacks the native library, one-sided reads or memory for map outputs ")
          .raw("where it should have them.</p>");
    } else {
      html.raw("<ul>");
      sentences.forEach(sentence -> html.raw("<li>").text(sentence).raw("</li>"));
      html.raw("</ul>");
    }
    return html
        .raw("<p class=\"text-muted\">Made from the counters of the other pages, without guesses: each sentence ")
        .raw("names what was counted. Shuffles that the tab has forgotten are not looked at.</p>").toString();
  }
}
