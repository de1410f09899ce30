package io.sluice.spark.compat;

import io.sluice.spark.SluiceException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.apache.spark.ui.SparkUITab;
import scala.Function0;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.xml.Node;

import org.apache.spark.ui.UIUtils$;

/**
 * The frame of a page of Spark's UI: header, tabs, footer. Its signature has the request's class, which differs between
 * Spark 3 and 4, and one more flag since 4.2.
 */
public final class SparkPages {
  private static final String METHOD = "headerSparkPage";
  /** Request, title, content, tab, help; flags follow. */
  private static final int BEFORE_FLAGS = 5;

  private SparkPages() {}

  /** A whole page with {@code content}; {@code request} is the servlet request of this line's class. */
  @SuppressWarnings("unchecked") // Nodes are a sequence of themselves, an immutable one on every line.
  public static Seq<Node> withHeader(Object request, String title, Node content, SparkUITab tab) {
    Method method = Found.METHOD;
    Object[] arguments = new Object[method.getParameterCount()];
    arguments[0] = request;
    arguments[1] = title;
    arguments[2] = (Function0<Seq<Node>>) () -> content;
    arguments[3] = tab;
    arguments[4] = Option.empty();
    for (int i = BEFORE_FLAGS; i < arguments.length; i++) {
      arguments[i] = false;
    }
    try {
      return (Seq<Node>) method.invoke(UIUtils$.MODULE$, arguments);
    } catch (InvocationTargetException e) {
      throw SparkLine.unchecked(e.getCause());
    } catch (IllegalAccessException e) {
      throw new IllegalStateException("Scala's methods are public", e);
    }
  }

  static Method find(Class<?> owner) {
    for (Method method : owner.getMethods()) {
      if (method.getName().equals(METHOD) && hasKnownShape(method.getParameterTypes())) {
        return method;
      }
    }
    throw new SluiceException("Spark " + SparkLine.version() + " has no method " + owner.getName() + "." + METHOD
        + " that Sluice knows. Set spark.sluice.ui.enabled=false to do without the tab Sluice");
  }

  private static boolean hasKnownShape(Class<?>[] parameters) {
    if (parameters.length < BEFORE_FLAGS || parameters[1] != String.class || parameters[2] != Function0.class
        || parameters[3] != SparkUITab.class || parameters[4] != Option.class) {
      return false;
    }
    for (int i = BEFORE_FLAGS; i < parameters.length; i++) {
      if (parameters[i] != boolean.class) {
        return false;
      }
    }
    return true;
  }

  private static final class Found {
    static final Method METHOD = find(UIUtils$.class);
  }
}
