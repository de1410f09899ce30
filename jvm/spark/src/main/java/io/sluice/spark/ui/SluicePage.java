package io.sluice.spark.ui;

import io.sluice.spark.compat.SparkPages;
import java.util.function.UnaryOperator;
import org.apache.spark.ui.SparkUITab;
import org.apache.spark.ui.WebUIPage;
import scala.collection.immutable.Seq;
import scala.xml.Node;
import scala.xml.Unparsed;

/**
 * A page of Spark's UI. It is a page on every line: Spark 4 calls the method with {@code jakarta}'s request, Spark 3
 * the one with {@code javax}'s, on Scala 2.12 by way of {@link Scala212Page}. The JVM looks for a request's class only
 * when its method is called.
 */
final class SluicePage extends WebUIPage implements Scala212Page {
  private final SparkUITab tab;
  private final PageContent content;
  private final Navigation navigation;

  SluicePage(SparkUITab tab, PageContent content, Navigation navigation) {
    super(content.path());
    this.tab = tab;
    this.content = content;
    this.navigation = navigation;
  }

  @Override
  public Seq<Node> render(jakarta.servlet.http.HttpServletRequest request) {
    return page(request, request::getParameter);
  }

  @Override
  public Seq<Node> render(javax.servlet.http.HttpServletRequest request) {
    return page(request, request::getParameter);
  }

  private Seq<Node> page(Object request, UnaryOperator<String> parameters) {
    String html = navigation.html(content) + content.html(parameters);
    return SparkPages.withHeader(request, "Sluice: " + content.title(), new Unparsed(html), tab);
  }
}
