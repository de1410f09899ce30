package io.sluice.advisor.log;

import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import io.sluice.advisor.model.Application;
import io.sluice.advisor.model.ApplicationBuilder;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Reads one log into an {@link Application}. Memory is taken for the sums of stages and jobs, whatever the log's size.
 * One thread, one log.
 */
public final class EventLogReader {
  private static final int BUFFER = 1 << 16;
  private static final int LONGEST_PATH = 4_096;
  /** Lines without any event after which a file is no log: another file may have gigabytes of them. */
  private static final long FOREIGN_LINES = 10_000;

  private final EventLog log;
  private final ReadProgress progress;
  private final ApplicationBuilder application = new ApplicationBuilder();
  private final EventParser parser = new EventParser(application);
  private long events;
  private long damagedLines;
  private long longLines;
  private boolean foreign;
  private String fault = "";

  private EventLogReader(EventLog log, ReadProgress progress) {
    this.log = log;
    this.progress = progress;
  }

  /**
   * The application of {@code log}.
   *
   * @throws UnreadableLogException if there is not one event in it
   */
  public static Application read(EventLog log, ReadProgress progress) throws UnreadableLogException {
    EventLogReader reader = new EventLogReader(log, progress);
    for (Path file : log.files()) {
      reader.read(file);
      if (reader.foreign) {
        break;
      }
    }
    if (reader.events == 0) {
      throw new UnreadableLogException(log.path() + ": " + reader.whyEmpty());
    }
    return reader.application.build(CleanText.of(log.path().toString(), LONGEST_PATH),
        new LogHealth(reader.events, reader.damagedLines, reader.longLines, reader.fault));
  }

  private String whyEmpty() {
    if (!fault.isEmpty()) {
      return "nothing of it can be read: " + fault;
    }
    return damagedLines + longLines == 0 ? "the file is empty"
        : "no event log of Spark: not one of its " + (damagedLines + longLines) + " lines "
            + (foreign ? "so far " : "") + "is an event";
  }

  private void read(Path file) {
    try (InputStream in = Codecs.plain(new CountedInput(
        new BufferedInputStream(Files.newInputStream(file), BUFFER), progress))) {
      LineInput lines = new LineInput(in);
      while (!foreign && lines.nextLine()) {
        readLine(lines);
        foreign = events == 0 && damagedLines + longLines >= FOREIGN_LINES;
      }
      if (lines.fault() != null) {
        fault = file.getFileName() + " is cut or damaged: " + CleanText.of(lines.fault(), 200);
      }
    } catch (IOException | RuntimeException e) {
      fault = file.getFileName() + " cannot be read: " + CleanText.of(e.toString(), 200);
    }
  }

  private void readLine(LineInput line) {
    try {
      if (parser.parse(line)) {
        events++;
      } else {
        damagedLines++;
      }
    } catch (StreamConstraintsException e) {
      longLines++;
    } catch (IOException | RuntimeException e) {
      unreadable(line);
    }
  }

  private void unreadable(LineInput line) {
    if (line.tooLong()) {
      longLines++;
    } else if (!line.terminated() && line.fault() == null) {
      fault = "it ends in the middle of an event";
    } else if (line.fault() == null) {
      damagedLines++;
    }
  }
}
