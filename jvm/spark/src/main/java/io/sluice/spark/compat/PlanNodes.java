package io.sluice.spark.compat;

import io.sluice.spark.SluiceException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import scala.collection.Iterable;
import scala.collection.Iterator;

/**
 * Reads the nodes of Spark SQL's physical plans. By reflection, because the methods return Scala's {@code Seq}, which
 * is another class in Scala 2.12 than in 2.13, and because the shuffle of an exchange must not be made by looking at
 * it.
 */
public final class PlanNodes {
  private static final String SHUFFLE = "shuffleDependency";

  private PlanNodes() {}

  /** The children of a node. */
  public static List<SparkPlan> children(SparkPlan node) {
    return nodes(node, TreeNode.class, "children");
  }

  /** The plans of the subqueries in a node's expressions. */
  public static List<SparkPlan> subqueries(SparkPlan node) {
    return nodes(node, QueryPlan.class, "subqueries");
  }

  private static List<SparkPlan> nodes(SparkPlan node, Class<?> owner, String method) {
    List<SparkPlan> nodes = new ArrayList<>();
    try {
      Method found = owner.getMethod(method);
      for (Iterator<?> all = ((Iterable<?>) found.invoke(node)).iterator(); all.hasNext();) {
        // An expression of a command may have a logical plan.
        if (all.next() instanceof SparkPlan plan) {
          nodes.add(plan);
        }
      }
    } catch (ReflectiveOperationException e) {
      throw new SluiceException("Spark " + SparkLine.version() + " has no usable " + owner.getName() + "." + method, e);
    }
    return nodes;
  }

  /** The plan that actions on {@code data} run. */
  public static SparkPlan executedPlan(Dataset<?> data) {
    try {
      // Since Spark 4.0 the class that has the method is below the public one.
      return ((QueryExecution) data.getClass().getMethod("queryExecution").invoke(data)).executedPlan();
    } catch (ReflectiveOperationException e) {
      throw new SluiceException("Spark " + SparkLine.version() + " has no usable " + data.getClass().getName()
          + ".queryExecution", e);
    }
  }

  /** The shuffle of an exchange; null before the exchange has made it, which may run a job. */
  public static ShuffleDependency<?, ?, ?> shuffleOf(ShuffleExchangeExec exchange) {
    try {
      Field field = ShuffleExchangeExec.class.getDeclaredField(SHUFFLE);
      field.setAccessible(true);
      return (ShuffleDependency<?, ?, ?>) field.get(exchange);
    } catch (ReflectiveOperationException | RuntimeException e) {
      throw new SluiceException("the field " + SHUFFLE + " of " + ShuffleExchangeExec.class.getName() + " of Spark "
          + SparkLine.version() + " cannot be read", e);
    }
  }
}
