package io.sluice.advisor.log;

import java.io.IOException;
import java.io.InputStream;

/**
 * The lines of a stream, one after the other: after {@link #nextLine}, reading gives the bytes of one line and then the
 * end of the stream. A line is never held in memory, so it may be of any length; of one longer than {@link #LONGEST},
 * the rest is skipped.
 *
 * <p>A stream that fails (a damaged block, a file that cannot be read) ends there: {@link #fault} says why. One thread.
 */
final class LineInput extends InputStream {
  /** Bytes of a line that are read. Spark's largest events, plans of queries, have some megabytes. */
  static final long LONGEST = 256L << 20;
  /** Small, because the zstd decoder drops what it has of a buffer when it comes to the end of a cut file. */
  private static final int BUFFER = 1 << 13;

  private final InputStream in;
  private final byte[] buffer = new byte[BUFFER];
  private int position;
  private int end;
  private boolean streamEnded;
  private boolean lineEnded = true;
  private boolean terminated = true;
  private long lineBytes;
  private boolean tooLong;
  private String fault;

  LineInput(InputStream in) {
    this.in = in;
  }

  /** Skips the rest of the line before and begins the next one; false if there is none. */
  boolean nextLine() {
    while (!lineEnded) {
      position = endOfLine();
      takeLineBreak();
    }
    if (position == end && !refill()) {
      return false;
    }
    lineEnded = false;
    lineBytes = 0;
    tooLong = false;
    return true;
  }

  /** Whether the line was longer than {@link #LONGEST}; known once it has been read or skipped that far. */
  boolean tooLong() {
    return tooLong;
  }

  /** Whether all lines so far ended with a line break; the last one of a log that was cut does not. */
  boolean terminated() {
    return terminated;
  }

  /** Why the stream ended early; null if it did not. */
  String fault() {
    return fault;
  }

  @Override
  public int read(byte[] into, int offset, int length) {
    if (length == 0) {
      return 0;
    }
    if (lineEnded || tooLong) {
      return -1;
    }
    int stop = endOfLine();
    int count = Math.min(length, stop - position);
    System.arraycopy(buffer, position, into, offset, count);
    position += count;
    lineBytes += count;
    tooLong = lineBytes > LONGEST;
    takeLineBreak();
    return count > 0 ? count : read(into, offset, length);
  }

  @Override
  public int read() {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  /** Where the line ends in the buffer, or the buffer's end. */
  private int endOfLine() {
    int i = position;
    while (i < end && buffer[i] != '\n') {
      i++;
    }
    return i;
  }

  /** At the end of the buffer, reads on; at a line break, takes it, and the line has ended. */
  private void takeLineBreak() {
    if (position == end && !refill()) {
      lineEnded = true;
      terminated = false;
    } else if (buffer[position] == '\n') {
      position++;
      lineEnded = true;
    }
  }

  private boolean refill() {
    if (streamEnded) {
      return false;
    }
    try {
      int count;
      do {
        count = in.read(buffer, 0, BUFFER);
      } while (count == 0);
      position = 0;
      end = Math.max(0, count);
      streamEnded = count < 0;
    } catch (IOException | RuntimeException e) {
      // Decompressors throw unchecked exceptions too when bytes are damaged.
      fault = e.getMessage() == null ? e.toString() : e.getMessage();
      position = 0;
      end = 0;
      streamEnded = true;
    }
    return end > position;
  }
}
