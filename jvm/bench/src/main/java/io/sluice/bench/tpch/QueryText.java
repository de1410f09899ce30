package io.sluice.bench.tpch;

import io.sluice.bench.check.SortColumn;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One query as Spark SQL, with the substitution parameters that the specification gives for validation.
 *
 * @param number 1 to 22
 * @param sql the text, complete
 */
public record QueryText(int number, String sql) {

  public static final int QUERIES = 22;

  /** The last clause but LIMIT; those of subqueries are followed by more. */
  private static final Pattern ORDER_BY = Pattern.compile("ORDER BY ([\\w, ]+?)\\s*(?:LIMIT \\d+\\s*)?$");

  /** Query 11 takes what holds more than this part of a stock at scale 1, and less where there are more parts. */
  private static final BigDecimal FRACTION_AT_SCALE_1 = new BigDecimal("0.0001");

  /** Query {@code number} for tables of {@code scale}. */
  public static QueryText of(int number, double scale) {
    String fraction = FRACTION_AT_SCALE_1.divide(BigDecimal.valueOf(scale), MathContext.DECIMAL32)
        .stripTrailingZeros().toPlainString();
    return new QueryText(number, read("q" + number + ".sql").replace(":fraction", fraction));
  }

  /** The columns of the last ORDER BY, in its order; empty if the result is one row. */
  List<SortColumn> order() {
    List<SortColumn> order = new ArrayList<>();
    Matcher matcher = ORDER_BY.matcher(sql);
    if (matcher.find()) {
      for (String column : matcher.group(1).split(",")) {
        String[] words = column.strip().split(" ");
        order.add(new SortColumn(words[0], words.length > 1 && words[1].equals("DESC")));
      }
    }
    return order;
  }

  /** What the query is called, from the comment in its first line. */
  public static String title(int number) {
    String text = read("q" + number + ".sql");
    return text.substring("-- ".length(), text.indexOf(':'));
  }

  private static String read(String name) {
    try (InputStream file = QueryText.class.getResourceAsStream(name)) {
      return new String(file.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(name + " cannot be read from the bench jar", e);
    }
  }
}
