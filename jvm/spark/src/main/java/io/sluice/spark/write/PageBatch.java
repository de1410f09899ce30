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
  private long moreRecords;

  PageBatch(int fields) {
    this.fields = fields;
  }

  /**
   * What encoding a page needs at most beside the page: the run, which is as large as the rows when they do not
   * compress, and 16 bytes to sort each row by. The quota for it is taken together with the page's, because a writer
   * that had to ask when its pages are full could wait for others in the same position.
   */
  static long encodeBytesFor(long pageBytes) {
    return pageBytes + pageBytes / 4;
  }

  /** Starts a page; the batch owns the lease and the quota of {@link #encodeBytesFor} it now. */
  PageWriter addPage(Lease lease) {
    PageWriter page = new PageWriter(lease);
    pages.add(page);
    encodeBytes += encodeBytesFor(lease.bytes());
    quotaBytes += lease.bytes() + encodeBytesFor(lease.bytes());
    return page;
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

  private long rows() {
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
