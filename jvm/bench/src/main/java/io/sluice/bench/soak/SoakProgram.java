package io.sluice.bench.soak;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which random program: its kind, seed, and how many of its steps. Its name, as {@code soak-sql-42-3}, is a workload's.
 *
 * @param sql a query, or else a program of RDDs
 * @param seed what determines the program
 * @param steps how many of its steps there are
 */
public record SoakProgram(boolean sql, long seed, int steps) {

  private static final Pattern NAME = Pattern.compile("soak-(sql|rdd)-(\\d+)-(\\d+)");

  /** The program of {@code seed}, as long as the seed makes it. */
  public static SoakProgram of(long seed) {
    boolean sql = !new Dice(seed).onceIn(3);
    return new SoakProgram(sql, seed, sql ? RandomQuery.stepsOf(seed) : RandomRecords.stepsOf(seed));
  }

  /** Whether {@code workload} is the name of a random program. */
  public static boolean isNamed(String workload) {
    return NAME.matcher(workload).matches();
  }

  /** The program called {@code name}. */
  public static SoakProgram named(String name) {
    Matcher matcher = NAME.matcher(name);
    if (!matcher.matches()) {
      throw new IllegalArgumentException("no random program is called '" + name + "'; one is soak-sql-42-3");
    }
    return new SoakProgram(matcher.group(1).equals("sql"), Long.parseLong(matcher.group(2)),
        Integer.parseInt(matcher.group(3)));
  }

  /** The name on the command line and in requests to drivers. */
  public String name() {
    return "soak-" + (sql ? "sql" : "rdd") + "-" + seed + "-" + steps;
  }

  /** The same without its last step. */
  SoakProgram shorter() {
    return new SoakProgram(sql, seed, steps - 1);
  }

  /** What it does with an input of {@code rows}, to be read or run by hand. */
  public String listing(long rows) {
    return (sql ? new RandomQuery(seed, rows, steps) : new RandomRecords(seed, rows, steps)).listing();
  }
}
