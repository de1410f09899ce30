package io.sluice.bench.scale;

/** What a stage of a shuffle can be limited by. */
public enum Resource {

  PROCESSORS("processors"),
  NETWORK("network"),
  DISK_BYTES("disk, bytes"),
  DISK_READS("disk, reads"),
  DRIVER("driver");

  private final String label;

  Resource(String label) {
    this.label = label;
  }

  /** For people. */
  public String label() {
    return label;
  }
}
