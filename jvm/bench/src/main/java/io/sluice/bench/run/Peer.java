package io.sluice.bench.run;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A project of others that engines are, or are beside, by its name on the command line. Where {@code ./sluice} knows a
 * published jar of it, it fetches that one; the versions are in {@code jvm/system-tests/neighbours/pom.xml}.
 */
public enum Peer {

  /** DataFusion Comet, which wants Spark's off-heap memory. */
  COMET("comet", List.of("3.5.8-2.12", "4.1.1-2.13"), Map.of(Peer.OFF_HEAP, "true")),

  /** Apache Celeborn, a remote shuffle service. It wants a serializer whose records can be moved, for RDDs, too. */
  CELEBORN("celeborn", List.of("3.5.8-2.12"), Map.of(Peer.SERIALIZER, Peer.KRYO)),

  /** Apache Uniffle, another one, with the same wish. */
  UNIFFLE("uniffle", List.of("3.5.8-2.12"), Map.of(Peer.SERIALIZER, Peer.KRYO)),

  /** NVIDIA's RAPIDS Accelerator. */
  RAPIDS("rapids", List.of(), Map.of()),

  /** Apache Gluten with Velox, which wants off-heap memory, too. */
  GLUTEN("gluten", List.of(), Map.of(Peer.OFF_HEAP, "true"));

  /** Whose value for all engines of a call is chosen by who calls, so that memory is equal. */
  public static final String OFF_HEAP = "spark.memory.offHeap.enabled";

  /** The line on which engines of peers run unless the user chooses one: most of them have a build for it. */
  public static final String SPARK = "3.5.8-2.12";

  private static final String SERIALIZER = "spark.serializer";
  private static final String KRYO = "org.apache.spark.serializer.KryoSerializer";

  private final String label;
  private final List<String> published;
  private final Map<String, String> needs;

  Peer(String label, List<String> published, Map<String, String> needs) {
    this.label = label;
    this.published = published;
    this.needs = needs;
  }

  /** The name on the command line. */
  public String label() {
    return label;
  }

  /** The Spark lines for which {@code ./sluice peer-jars} fetches a jar. */
  public List<String> published() {
    return published;
  }

  /** Settings that it needs and that all engines of a call with it get, so that they do the same work. */
  public Map<String, String> needs() {
    return needs;
  }

  /** Whether its shuffles are kept by processes of its own, which {@code --peer-home} has. */
  public boolean hasServers() {
    return this == CELEBORN || this == UNIFFLE;
  }

  /** The one called {@code label}, if there is one. */
  public static Optional<Peer> find(String label) {
    return Arrays.stream(values()).filter(peer -> peer.label.equals(label)).findFirst();
  }

  /** Every label, for messages. */
  public static String labels() {
    return Arrays.stream(values()).map(Peer::label).collect(Collectors.joining(", "));
  }
}
