package io.sluice.spark.events;

import java.util.Map;
import org.apache.spark.scheduler.SparkListenerEvent;

/** Stands for Sluice's event of that name, which bench reads by reflection. */
public record StageSummary(int stageId, Map<String, Long> figures) implements SparkListenerEvent {}
