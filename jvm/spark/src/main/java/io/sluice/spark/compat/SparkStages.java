package io.sluice.spark.compat;

import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.storage.RDDInfo;
import scala.collection.Iterator;

/**
 * Sequences of Spark's events. Their accessors return {@code scala.collection.Seq} on Scala 2.12 and {@code
 * scala.collection.immutable.Seq} on 2.13, so they are looked up by name.
 */
public final class SparkStages {
  private SparkStages() {}

  /** The stages of a job, those too that it will not run because their outputs are there. */
  public static List<StageInfo> of(SparkListenerJobStart job) {
    return elements(job, "stageInfos", StageInfo.class);
  }

  /** The numbers of the stages whose output a stage reads. */
  public static List<Integer> parents(StageInfo stage) {
    return elements(stage, "parentIds", Integer.class);
  }

  /** The number of the RDD that a stage computes; null if its event has none. */
  public static Integer rdd(StageInfo stage) {
    List<RDDInfo> rdds = elements(stage, "rddInfos", RDDInfo.class);
    return rdds.isEmpty() ? null : rdds.get(0).id();
  }

  private static <T> List<T> elements(Object owner, String accessor, Class<T> type) {
    try {
      Iterator<?> elements =
          ((scala.collection.Iterable<?>) owner.getClass().getMethod(accessor).invoke(owner)).iterator();
      List<T> list = new ArrayList<>();
      while (elements.hasNext()) {
        list.add(type.cast(elements.next()));
      }
      return list;
    } catch (InvocationTargetException e) {
      throw SparkLine.unchecked(e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(
          "Spark " + SparkLine.version() + " has no " + accessor + " of " + owner.getClass(),
          e);
    }
  }
}
