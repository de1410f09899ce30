package io.sluice.spark.ui;

import javax.servlet.http.HttpServletRequest;
import scala.collection.Seq;
import scala.xml.Node;

/** A page as Spark sees it on Scala 2.12: javac makes a method of this return type in classes that implement it. */
interface Scala212Page {
  Seq<Node> render(HttpServletRequest request);
}
