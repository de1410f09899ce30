package io.sluice.bench.soak;

import java.util.LinkedHashMap;
import java.util.Map;

/** Settings of an application, for stock and Sluice alike, that a seed determines. */
final class Profile {

  private Profile() {}

  static Map<String, String> of(Dice dice) {
    Map<String, String> settings = new LinkedHashMap<>();
    settings.put("spark.serializer", dice.pick("org.apache.spark.serializer.JavaSerializer",
        "org.apache.spark.serializer.KryoSerializer"));
    settings.put("spark.io.compression.codec", dice.pick("lz4", "zstd", "snappy"));
    settings.put("spark.sluice.mode", dice.pick("MULTITHREADED", "MULTITHREADED", "UCX", "RDMA"));
    settings.put("spark.io.encryption.enabled", dice.pick("false", "false", "false", "true"));
    // A twentieth of the heap is little: sorts, aggregations and shuffles spill.
    settings.put("spark.memory.fraction", dice.pick("0.6", "0.05"));
    settings.put("spark.sluice.sql.exchange", dice.pick("true", "true", "true", "false"));
    settings.put("spark.shuffle.readHostLocalDisk", dice.pick("true", "false"));
    settings.put("spark.reducer.maxSizeInFlight", dice.pick("48m", "256k"));
    settings.put("spark.rdd.compress", dice.pick("false", "true"));
    return settings;
  }
}
