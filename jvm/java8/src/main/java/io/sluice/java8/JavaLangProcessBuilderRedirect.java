package io.sluice.java8;

import java.io.File;
import java.lang.ProcessBuilder.Redirect;

/** For {@link Redirect}. */
public final class JavaLangProcessBuilderRedirect {
  public static final Redirect DISCARD = Redirect.to(new File("/dev/null"));

  private JavaLangProcessBuilderRedirect() {}
}
