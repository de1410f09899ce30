package io.sluice.spark.write;

import io.sluice.nativebridge.Lease;
import io.sluice.spark.memory.TaskMemory;
import java.util.ArrayList;
import java.util.List;

/**
 * Pages of rows with the same number of fields that are encoded together, as one run. Filled by the task's
 * thread, then only read, possibly by an encoder thread, until {@link #release} or {@link #settle}.
 */
final class PageBatch {
  static final int LONGS_PER_PAGE = 4;

  private final int fields;
  private final List<PageWriter> pages = new ArrayList<>();
  private long quotaBytes;
  private long encodeBytes;
  /** The longest row that has a page of its own; 0 when none has. */
  private long largeRowBytes;
  private long moreRecords;

  PageBatch(int fields) {
    this.fields = fields;
  }

  /**
   * The quota for encoding that the batch lacks when it gets one more page. It is taken together with the page's,
   * because a writer that had to ask when its pages are full could wait for others in the same position. The page's
   * rows are not known yet; {@link #reserveEncode} corrects it when they are.
   *
   * @param pageRowBytes how long the rows of that page will be, as far as is known
   * @param ownPage whether it is made for one row
   */
  long lackingEncodeBytes(MapOutput output, long pageBytes, long pageRowBytes, boolean ownPage) {
    long pageRows = Math.max(1, pageBytes / (pageRowBytes + PageWriter.ENTRY_BYTES));
    long needs = output.encodeNeeds(rowBytes() + pageRows * pageRowBytes, rows() + pageRows,
        Math.max(largeRowBytes, ownPage ? pageRowBytes : 0), fields);
    return Math.max(0, needs - encodeBytes);
  }

  /** Starts a page; the batch owns the lease, and quota for encoding of {@code moreEncodeBytes}, now. */
  PageWriter addPage(Lease lease, long moreEncodeBytes) {
    PageWriter page = new PageWriter(lease);
    pages.add(page);
    encodeBytes += moreEncodeBytes;
    quotaBytes += lease.bytes() + moreEncodeBytes;
    return page;
  }

  /** As {@link #addPage}, for a page that one row fills. */
  PageWriter addPageOf(Lease lease, long moreEncodeBytes, long rowBytes) {
    largeRowBytes = Math.max(largeRowBytes, rowBytes);
    return addPage(lease, moreEncodeBytes);
  }

  /**
   * The batch is full: makes its quota for encoding what its rows need. Where there is no more quota it keeps what it
   * has; the arena's limit then decides whether the encode gets what it lacks, or goes on after a spill.
   *
   * @param mayGrow false while the task spills: Spark forbids to ask for its memory then
   */
  void reserveEncode(MapOutput output, TaskMemory memory, boolean mayGrow) {
    long more = output.encodeNeeds(rowBytes(), rows(), largeRowBytes, fields) - encodeBytes;
    if (more < 0) {
      memory.unreserve(-more);
    } else if (more > 0 && !(mayGrow && memory.tryReserveForRows(more))) {
      return;
    }
    encodeBytes += more;
    quotaBytes += more;
  }

  /** Counts records that have no row of their own, because some row holds several. */
  void addRecords(long records) {
    moreRecords += records;
  }

  int fields() {
    return fields;
  }

  /** The task's quota that the batch holds: its pages, and what encoding them needs. */
  long quotaBytes() {
    return quotaBytes;
  }

  long rowBytes() {
    long bytes = 0;
    for (PageWriter page : pages) {
      bytes += page.rowBytes();
    }
    return bytes;
  }

  /** Bytes of pages that rows and their entries fill; grows with rows of no columns too. */
  long filledBytes() {
    return rowBytes() + rows() * PageWriter.ENTRY_BYTES;
  }

  long records() {
    return rows() + moreRecords;
  }

  long rows() {
    long rows = 0;
    for (PageWriter page : pages) {
      rows += page.records();
    }
    return rows;
  }

  /** The pages as the native core wants them. */
  long[] describe() {
    long[] description = new long[pages.size() * LONGS_PER_PAGE];
    for (int i = 0; i < pages.size(); i++) {
      pages.get(i).describe(description, i * LONGS_PER_PAGE);
    }
    return description;
  }

  /** Frees the pages and their quota. */
  void release(TaskMemory memory) {
    pages.forEach(page -> memory.free(page.lease()));
    pages.clear();
    memory.unreserve(encodeBytes);
  }

  /**
   * Frees the pages, and keeps as much of their quota as the run that came out of them holds.
   *
   * @return the quota kept, in bytes
   */
  long settle(TaskMemory memory, long runBytes) {
    pages.forEach(page -> memory.freeKeepingQuota(page.lease()));
    pages.clear();
    long kept = Math.min(runBytes, quotaBytes);
    memory.unreserve(quotaBytes - kept);
    return kept;
  }

  /** Takes the pages out of the task's account; {@link #closePages} must follow, at any later time. */
  void detach(TaskMemory memory) {
    pages.forEach(page -> memory.detach(page.lease()));
    memory.unreserve(encodeBytes);
  }

  /** Frees pages that were detached. Any thread. */
  void closePages() {
    pages.forEach(page -> page.lease().close());
    pages.clear();
  }
}
