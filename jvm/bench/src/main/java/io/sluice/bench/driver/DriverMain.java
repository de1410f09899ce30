package io.sluice.bench.driver;

import io.sluice.bench.protocol.Json;
import io.sluice.bench.protocol.Reply;
import io.sluice.bench.protocol.Request;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/**
 * Entry point of a driver process: answers the {@link Request}s on standard input until it ends.
 *
 * <p>Standard output carries replies only; whatever else is printed goes to standard error, the log.
 */
public final class DriverMain {

  private DriverMain() {}

  public static void main(String[] arguments) throws IOException {
    PrintStream replies = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err);
    // Progress comes from Spark's listener thread while the main thread works: whole lines only.
    Consumer<Reply> reply = message -> {
      synchronized (replies) {
        replies.println(Json.line(message));
      }
    };
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    SparkApplication application = null;
    for (String line = requests.readLine(); line != null; line = requests.readLine()) {
      Request request = Json.parse(line, Request.class);
      try {
        if (request.action() == Request.Action.START) {
          application = SparkApplication.start(request, reply);
          reply.accept(Reply.ready());
        } else {
          reply.accept(application.answer(request));
        }
      } catch (Exception | LinkageError e) {
        e.printStackTrace();
        reply.accept(Reply.error(describe(e)));
      }
    }
    if (application != null) {
      application.stop();
    }
    // Threads that a plugin or Spark left behind must not keep a finished driver alive.
    System.exit(0);
  }

  /** The innermost cause first, because Spark wraps it in several layers, then the stack for the log. */
  private static String describe(Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    StringWriter text = new StringWriter();
    text.append(cause.toString());
    if (cause.getStackTrace().length == 0) {
      failure.printStackTrace(new PrintWriter(text, true));
    }
    return text.toString();
  }
}
