package io.sluice.systemtests;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The tab Sluice of a running application that was started with {@link #SETTINGS}, and its part of Spark's REST. */
final class LiveTab {
  static final Map<String, String> SETTINGS = Map.of("spark.ui.enabled", "true", "spark.ui.port", "0");

  private final SparkApplication application;

  LiveTab(SparkApplication application) {
    this.application = application;
  }

  /** A page, without the space at which no line is broken. */
  String page(String path) {
    return get("/sluice/" + path).replace('\u00a0', ' ');
  }

  String rest(String path) {
    return get("/api/v1/applications/" + application.session().sparkContext().applicationId() + "/sluice" + path);
  }

  /** All values of a number in an answer of {@link #rest}, in the order of the answer. */
  static List<Long> numbers(String json, String name) {
    List<Long> numbers = new ArrayList<>();
    Matcher found = Pattern.compile('"' + Pattern.quote(name) + "\" : (\\d+)").matcher(json);
    while (found.find()) {
      numbers.add(Long.parseLong(found.group(1)));
    }
    return numbers;
  }

  /** The numbers of all lists of this name, added up for each. */
  static List<Long> sums(String json, String name) {
    List<Long> sums = new ArrayList<>();
    Matcher found = Pattern.compile('"' + Pattern.quote(name) + "\" : \\[([\\d, \n]*)]").matcher(json);
    while (found.find()) {
      long sum = 0;
      for (String number : found.group(1).trim().split("[, \n]+")) {
        sum += number.isEmpty() ? 0 : Long.parseLong(number);
      }
      sums.add(sum);
    }
    return sums;
  }

  private String get(String path) {
    // Twice, because one listener posts what another one shows.
    application.events();
    application.events();
    int port = URI.create(application.session().sparkContext().uiWebUrl().get()).getPort();
    try {
      return WebPage.get("http://127.0.0.1:" + port + path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
