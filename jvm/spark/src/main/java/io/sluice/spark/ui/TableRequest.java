package io.sluice.spark.ui;

import java.util.List;
import java.util.function.UnaryOperator;

/**
 * What an address asks of a table: the words to search for, the column to sort by, the page. What makes no sense is
 * replaced by what does.
 *
 * @param page from 1
 */
record TableRequest(String search, String sort, boolean descending, int page, int size) {
  private static final int DEFAULT_SIZE = 100;
  /** Rows of a page: so many make 2 MB of HTML, which a browser shows within a second. */
  private static final int MOST = 500;
  private static final int MOST_SEARCH_CHARACTERS = 100;

  static TableRequest of(UnaryOperator<String> parameters, String defaultSort) {
    String search = orElse(parameters.apply("search"), "").trim();
    return new TableRequest(search.substring(0, Math.min(MOST_SEARCH_CHARACTERS, search.length())),
        orElse(parameters.apply("sort"), defaultSort), "true".equals(parameters.apply("desc")),
        number(parameters.apply("page"), 1, Integer.MAX_VALUE), number(parameters.apply("size"), DEFAULT_SIZE, MOST));
  }

  private static String orElse(String value, String byDefault) {
    return value == null ? byDefault : value;
  }

  private static int number(String text, int byDefault, int most) {
    try {
      int number = text == null ? byDefault : Integer.parseInt(text.trim());
      return number < 1 ? byDefault : Math.min(number, most);
    } catch (NumberFormatException e) {
      return byDefault;
    }
  }

  /** The same, on the last page if {@code rows} rows have no such page. */
  TableRequest within(int rows) {
    return new TableRequest(search, sort, descending, Math.min(page, lastPage(rows)), size);
  }

  private int lastPage(int rows) {
    return Math.max(1, (rows + size - 1) / size);
  }

  /** The rows of this page. */
  <T> List<T> page(List<T> rows) {
    int from = (page - 1) * size;
    return rows.subList(Math.min(from, rows.size()), Math.min(from + size, rows.size()));
  }

  /** A field and a button, which work without a script. */
  void searchForm(Html html, String what) {
    html.raw("<form method=\"get\" action=\"./\" class=\"d-flex form-inline mb-2\" role=\"search\">")
        .raw("<input type=\"hidden\" name=\"sort\" value=\"").text(sort).raw("\"/>")
        .raw("<input type=\"hidden\" name=\"size\" value=\"").text(size).raw("\"/>")
        .raw("<input type=\"hidden\" name=\"desc\" value=\"").text(Boolean.toString(descending)).raw("\"/>")
        .raw("<input type=\"search\" name=\"search\" class=\"form-control form-control-sm w-25 me-2 mr-2\" ")
        .raw("aria-label=\"Search for ").text(what).raw("\" placeholder=\"").text(what).raw("\" value=\"").text(search)
        .raw("\"/><button type=\"submit\" class=\"btn btn-sm btn-secondary\">Search</button></form>");
  }

  /** A cell of the table's head: a link that sorts by the column, or the other way round. */
  void header(Html html, String key, String title, String tooltip) {
    boolean sorted = key.equals(sort);
    html.raw("<th scope=\"col\" aria-sort=\"").raw(!sorted ? "none" : descending ? "descending" : "ascending")
        .raw("\"><a href=\"").text(address(key, sorted && !descending, 1)).raw("\" title=\"").text(tooltip).raw("\">")
        .text(title).raw(!sorted ? "" : descending ? "&nbsp;▾" : "&nbsp;▴").raw("</a></th>");
  }

  /** Links to the pages around this one; nothing where there is one page. */
  void pages(Html html, int rows, String what) {
    int last = lastPage(rows);
    html.raw("<p>").text(Amounts.count(rows) + " " + what + (rows == 1 ? "" : "s"));
    if (last > 1) {
      html.text(", page " + page + " of " + last + ": ");
      link(html, "first", 1);
      link(html, "previous", Math.max(1, page - 1));
      link(html, "next", Math.min(last, page + 1));
      link(html, "last", last);
    }
    html.raw("</p>");
  }

  private void link(Html html, String text, int to) {
    html.raw(" ");
    if (to == page) {
      html.raw("<span class=\"text-muted\">").text(text).raw("</span>");
    } else {
      html.raw("<a href=\"").text(address(sort, descending, to)).raw("\">").text(text).raw("</a>");
    }
  }

  private String address(String column, boolean down, int to) {
    return "./?sort=" + Html.inUrl(column) + "&desc=" + down + "&page=" + to + "&size=" + size + "&search="
        + Html.inUrl(search);
  }
}
