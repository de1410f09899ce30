package io.sluice.systemtests;

import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;

/** The log events of this process, those below {@code io.sluice} or all, while it is open. */
final class LogCapture extends AbstractAppender implements AutoCloseable {
  private final Logger logger;
  private final List<LogEvent> events = new ArrayList<>();

  private LogCapture(Logger logger) {
    super("capture", null, null, true, Property.EMPTY_ARRAY);
    this.logger = logger;
  }

  static LogCapture open() {
    return open(LogManager.getLogger("io.sluice"));
  }

  /** Also what Spark and its libraries log. */
  static LogCapture openForAll() {
    return open(LogManager.getRootLogger());
  }

  private static LogCapture open(org.apache.logging.log4j.Logger logger) {
    LogCapture capture = new LogCapture((Logger) logger);
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

  /** The messages at {@code level} or above but those of loggers that begin with one of {@code names}. */
  synchronized List<String> messagesWithout(Level level, List<String> names) {
    return events.stream()
        .filter(event -> event.getLevel().isMoreSpecificThan(level))
        .filter(event -> names.stream().noneMatch(event.getLoggerName()::startsWith))
        .map(event -> event.getMessage().getFormattedMessage())
        .toList();
  }

  @Override
  public void close() {
    logger.removeAppender(this);
    stop();
  }
}
