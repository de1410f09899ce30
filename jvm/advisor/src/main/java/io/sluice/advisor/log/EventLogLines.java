package io.sluice.advisor.log;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UnsupportedEncodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * The lines of a log that somebody wants, as text: of each line its beginning is shown first, and the rest is read only
 * if it is wanted. So memory is taken for one line, of bounded length. One thread, one log.
 */
public final class EventLogLines {
  private static final int BUFFER = 1 << 16;
  /** Enough for the name of an event, with which Spark begins each line. */
  private static final int BEGINNING = 128;
  /** Longer lines are counted and skipped; of the events that are read, the longest are the starts of jobs. */
  private static final int LONGEST = 64 << 20;
  /** Lines of which none is an event, after which a file is no log. */
  private static final long FOREIGN_LINES = 10_000;
  private static final String EVENT = "{\"Event\":\"";

  private final Predicate<String> wanted;
  private final Consumer<String> taker;
  private final byte[] chunk = new byte[BUFFER];
  private long events;
  private long foreignLines;
  private long skippedLines;
  private String fault = "";

  /**
   * @param wanted asked with a line's beginning
   * @param taker gets the lines that are wanted
   */
  public EventLogLines(Predicate<String> wanted, Consumer<String> taker) {
    this.wanted = wanted;
    this.taker = taker;
  }

  /**
   * Reads a log as far as it can be read.
   *
   * @return what was wrong with it, as a sentence's end; empty for nothing
   * @throws UnreadableLogException if there is not one event in it
   */
  public String read(EventLog log, ReadProgress progress) throws UnreadableLogException {
    for (Path file : log.files()) {
      read(file, progress);
    }
    if (events == 0) {
      throw new UnreadableLogException(log.path() + ": " + (!fault.isEmpty() ? "nothing of it can be read: " + fault
          : foreignLines == 0 ? "the file is empty"
              : "no event log of Spark: not one of its first " + foreignLines + " lines is an event"));
    }
    return (fault + (skippedLines == 0 ? ""
        : (fault.isEmpty() ? "" : "; ") + skippedLines
            + (skippedLines == 1 ? " line is damaged or too long and was" : " lines are damaged or too long and were")
            + " skipped"));
  }

  /** Counts a line that its taker could not understand. */
  public void skipped() {
    skippedLines++;
  }

  private boolean isForeign() {
    return events == 0 && foreignLines >= FOREIGN_LINES;
  }

  private void read(Path file, ReadProgress progress) {
    try (InputStream in = Codecs.plain(new CountedInput(
        new BufferedInputStream(Files.newInputStream(file), BUFFER), progress))) {
      LineInput lines = new LineInput(in);
      while (!isForeign() && lines.nextLine()) {
        line(lines);
      }
      if (lines.fault() != null) {
        fault = file.getFileName() + " is cut or damaged: " + CleanText.of(lines.fault(), 200);
      }
    } catch (IOException | RuntimeException e) {
      fault = file.getFileName() + " cannot be read: " + CleanText.of(e.toString(), 200);
    }
  }

  private void line(LineInput in) throws UnsupportedEncodingException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(BEGINNING);
    copy(in, bytes, BEGINNING);
    String beginning = bytes.toString("UTF-8");
    if (!beginning.startsWith(EVENT)) {
      foreignLines++;
      skippedLines += events > 0 ? 1 : 0;
      return;
    }
    events++;
    if (!wanted.test(beginning)) {
      return;
    }
    if (!copy(in, bytes, LONGEST) || in.tooLong()) {
      skippedLines++;
      return;
    }
    if (!in.terminated() || in.fault() != null) {
      fault = fault.isEmpty() ? "it ends in the middle of an event" : fault;
      return;
    }
    taker.accept(bytes.toString("UTF-8"));
  }

  /** Copies what is left of the line until {@code most} bytes are there: whether that was all. */
  private boolean copy(LineInput in, ByteArrayOutputStream bytes, int most) {
    while (bytes.size() < most) {
      int count = in.read(chunk, 0, Math.min(chunk.length, most - bytes.size()));
      if (count < 0) {
        return true;
      }
      bytes.write(chunk, 0, count);
    }
    return false;
  }
}
