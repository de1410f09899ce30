package io.sluice.spark.ui;

import java.util.function.UnaryOperator;

/** What a page of the tab shows below Spark's header. Any thread. */
interface PageContent {
  /** The last part of the page's address; empty for the tab's first page. */
  String path();

  /** What the navigation and the title call it. */
  String title();

  /** @param parameters of the request, by name; null for one that is missing */
  String html(UnaryOperator<String> parameters);
}
