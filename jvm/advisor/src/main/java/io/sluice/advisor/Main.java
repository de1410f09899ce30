package io.sluice.advisor;

import io.sluice.advisor.measured.ErrorTable;
import io.sluice.advisor.measured.MeasuredFile;
import io.sluice.advisor.report.AdviceReport;
import io.sluice.advisor.report.HtmlReport;
import io.sluice.advisor.report.JsonReport;
import io.sluice.advisor.report.TextReport;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** {@code java -jar sluice-VERSION.jar advise}: says from event logs what Sluice would save. */
public final class Main {
  private static final int UNREADABLE = 1;
  private static final int WRONG_ARGUMENTS = 2;

  private Main() {}

  /** Exits with 0, 1 if a log could not be read or a file not be written, 2 for wrong arguments. */
  public static void main(String[] arguments) throws IOException {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8.name());
    PrintStream err = new PrintStream(System.err, true, StandardCharsets.UTF_8.name());
    System.exit(run(Arrays.asList(arguments), out, err, Terminal.isStandardError()));
  }

  /** Returns the exit code. */
  static int run(List<String> arguments, PrintStream out, PrintStream err, boolean terminal) {
    Options options;
    try {
      options = Options.parse(arguments);
    } catch (IllegalArgumentException e) {
      err.println("error: " + e.getMessage() + " (--help shows what there is)");
      return WRONG_ARGUMENTS;
    }
    if (options.help()) {
      out.print(Options.HELP);
      return 0;
    }
    try {
      return advise(options, out, err, terminal);
    } catch (IOException | MeasuredFile.UnusableException e) {
      err.println("error: " + e.getMessage());
      return UNREADABLE;
    } catch (OutOfMemoryError e) {
      err.println("error: the report cannot be written: " + HeapSpace.tooSmall("advise"));
      return UNREADABLE;
    }
  }

  private static int advise(Options options, PrintStream out, PrintStream err, boolean terminal)
      throws IOException, MeasuredFile.UnusableException {
    Optional<MeasuredFile> measured =
        options.measured() == null ? Optional.empty() : Optional.of(MeasuredFile.read(options.measured()));
    Advisor advisor = new Advisor();
    advisor.read(options.logs(), err, terminal);
    advisor.skipped().forEach(sentence -> err.println("note: skipped " + sentence));
    advisor.problems().forEach(sentence -> err.println("error: " + sentence));
    List<String> problems = new ArrayList<>(advisor.problems());
    problems.addAll(advisor.skipped());
    AdviceReport report = new AdviceReport(version(), advisor.estimates(), problems);
    if (measured.isPresent()) {
      out.print(ErrorTable.of(advisor.estimates(), measured.get()).render());
    } else if (!advisor.estimates().isEmpty()) {
      out.print(TextReport.render(report));
    }
    if (options.html() != null) {
      String page = HtmlReport.render(report);
      write(options.html(), file -> file.write(page.getBytes(StandardCharsets.UTF_8)), err);
    }
    if (options.json() != null) {
      write(options.json(), file -> JsonReport.write(report, file), err);
    }
    if (advisor.estimates().isEmpty() && advisor.problems().isEmpty()) {
      err.println("error: there is no event log in what was named");
    }
    return advisor.problems().isEmpty() && !advisor.estimates().isEmpty() ? 0 : UNREADABLE;
  }

  /** Writes to a file that has been opened. */
  @FunctionalInterface
  private interface Content {
    void writeTo(OutputStream file) throws IOException;
  }

  private static void write(Path path, Content content, PrintStream err) throws IOException {
    try (OutputStream file = new BufferedOutputStream(Files.newOutputStream(path))) {
      content.writeTo(file);
    } catch (IOException e) {
      throw new IOException(path + " cannot be written: " + e, e);
    }
    err.println("Wrote " + path);
  }

  private static String version() {
    return Optional.ofNullable(Main.class.getPackage().getImplementationVersion()).orElse("(unpackaged)");
  }
}
