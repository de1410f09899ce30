package io.sluice.bench.scale;

import java.util.Map;

/**
 * What a shuffle is said to take.
 *
 * @param map seconds of the map stage that each resource would need by itself; the stage takes the longest of them,
 *     because they work beside each other
 * @param reduce the same of the reduce stage
 * @param statusS seconds until every host has the map statuses, between the stages
 * @param statusBytes of the map statuses of the shuffle, which every executor keeps
 * @param blockBytes mean size of a block
 */
public record Prediction(Map<Resource, Double> map, Map<Resource, Double> reduce, double statusS, double statusBytes,
    double blockBytes) {

  public double mapS() {
    return map.get(limit(map));
  }

  public double reduceS() {
    return reduce.get(limit(reduce));
  }

  public double totalS() {
    return mapS() + statusS + reduceS();
  }

  /** The resource that a stage waits for. */
  public static Resource limit(Map<Resource, Double> stage) {
    return stage.entrySet().stream().max(Map.Entry.comparingByValue()).orElseThrow().getKey();
  }
}
