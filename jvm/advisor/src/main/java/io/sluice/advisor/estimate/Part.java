package io.sluice.advisor.estimate;

/** Where a saving comes from. */
public enum Part {
  WRITE("writing", "rows are made bytes, sorted by partition and compressed with less CPU"),
  READ("reading", "blocks are decompressed and made rows with less CPU"),
  SORT("sorting", "rows are sorted by numbers made of their keys"),
  COMBINE("combining", "records are combined and grouped by key as bytes, without an object for each"),
  GC("garbage collection", "fewer objects are made, so the collector runs less"),
  WAITING("waiting", "fewer bytes are fetched, and tasks wait less for a processor");

  private final String title;
  private final String reason;

  Part(String title, String reason) {
    this.title = title;
    this.reason = reason;
  }

  /** In one word or two. */
  public String title() {
    return title;
  }

  /** Why Sluice saves there. */
  public String reason() {
    return reason;
  }
}
