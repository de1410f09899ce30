package io.sluice.spark.ui;

import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.status.ElementTrackingStore;
import scala.collection.Seq;

/**
 * Spark's plugin interface as it is on Scala 2.12: javac makes a method of this return type in classes that implement
 * it.
 */
interface Scala212HistoryServerPlugin {
  Seq<SparkListener> createListeners(SparkConf conf, ElementTrackingStore store);
}
