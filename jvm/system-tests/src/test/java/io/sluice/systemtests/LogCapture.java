package io.sluice.systemtests;

import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;

/** The log events of this process below {@code io.sluice} while it is open. */
final class LogCapture extends AbstractAppender implements AutoCloseable {
  private final Logger logger = (Logger) LogManager.getLogger("io.sluice");
  private final List<LogEvent> events = new ArrayList<>();

  private LogCapture() {
    super("capture", null, null, true, Property.EMPTY_ARRAY);
  }

  static LogCapture open() {
    LogCapture capture = new LogCapture();
    capture.start();
    capture.logger.addAppender(capture);
    return capture;
  }

  @Override
  public synchronized void append(LogEvent event) {
    events.add(event.toImmutable());
  }

  /** The messages at {@code level} or above that contain {@code text}. */
  synchronized List<String> messages(Level level, String text) {
    return events.stream()
        .filter(event -> event.getLevel().isMoreSpecificThan(level))
        .map(event -> event.getMessage().getFormattedMessage())
        .filter(message -> message.contains(text))
        .toList();
  }

  @Override
  public void close() {
    logger.removeAppender(this);
    stop();
  }
}
