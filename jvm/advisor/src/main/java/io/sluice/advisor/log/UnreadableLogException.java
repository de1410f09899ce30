package io.sluice.advisor.log;

/** A file or folder is no event log, or nothing of it can be read. The message is a sentence for the user. */
public final class UnreadableLogException extends Exception {
  private static final long serialVersionUID = 1L;

  public UnreadableLogException(String message) {
    super(message);
  }
}
