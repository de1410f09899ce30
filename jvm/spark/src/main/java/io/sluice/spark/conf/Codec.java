package io.sluice.spark.conf;

/** How records become bytes: the values of {@code spark.sluice.codec}. */
public enum Codec {
  /** Sluice's frames, for every shuffle that they fit. */
  SLUICE,
  /** Spark's own writers and serialized streams, for all shuffles. */
  SPARK
}
