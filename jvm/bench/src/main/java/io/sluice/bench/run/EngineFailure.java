package io.sluice.bench.run;

/** An engine could not do what it was asked; the message is for the user and names the log. */
public final class EngineFailure extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public EngineFailure(String message) {
    super(message);
  }
}
