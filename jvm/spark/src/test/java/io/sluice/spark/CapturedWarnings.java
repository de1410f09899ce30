package io.sluice.spark;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;

/** The warnings that a class logs until this is closed. */
public final class CapturedWarnings extends AbstractAppender implements AutoCloseable {
  private final List<String> texts = new CopyOnWriteArrayList<>();
  private final Logger logger;

  private CapturedWarnings(Class<?> of) {
    super("warnings of " + of.getName(), null, null, false, Property.EMPTY_ARRAY);
    this.logger = (Logger) LogManager.getLogger(of);
  }

  public static CapturedWarnings of(Class<?> logs) {
    CapturedWarnings warnings = new CapturedWarnings(logs);
    warnings.start();
    warnings.logger.addAppender(warnings);
    return warnings;
  }

  @Override
  public void append(LogEvent event) {
    if (event.getLevel() == Level.WARN) {
      texts.add(event.getMessage().getFormattedMessage());
    }
  }

  /** In the order in which they were logged. */
  public List<String> texts() {
    return texts;
  }

  @Override
  public void close() {
    logger.removeAppender(this);
    stop();
  }
}
