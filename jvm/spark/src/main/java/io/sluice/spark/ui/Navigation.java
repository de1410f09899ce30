package io.sluice.spark.ui;

import java.util.List;

/** Links between the tab's pages, relative ones, so that they work behind any proxy. */
final class Navigation {
  private final List<PageContent> pages;

  Navigation(List<PageContent> pages) {
    this.pages = pages;
  }

  /** The links as {@code current} shows them. */
  String html(PageContent current) {
    Html html = new Html().raw("<ul class=\"nav nav-pills mb-3\">");
    String up = up(current);
    for (PageContent page : pages) {
      boolean active = page == current;
      html.raw("<li class=\"nav-item\"><a class=\"nav-link").raw(active ? " active\" aria-current=\"page" : "")
          .raw("\" href=\"").text(up + (page.path().isEmpty() ? "" : page.path() + "/")).raw("\">").text(page.title())
          .raw("</a></li>");
    }
    return html.raw("</ul>").toString();
  }

  /** From a page to the tab's first one. */
  private static String up(PageContent page) {
    return page.path().isEmpty() ? "./" : "../";
  }

  /** From a page to the root of Spark's UI. */
  static String root(PageContent page) {
    return page.path().isEmpty() ? "../" : "../../";
  }
}
