package io.sluice.doctor.host;

import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The libraries that the dynamic loader finds by name: those in its cache, then those in its default folders.
 */
public final class LoaderCache {
  private static final List<String> FOLDERS = List.of("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
      "/usr/lib64", "/lib", "/usr/lib");

  private LoaderCache() {}

  /** The file that is loaded for {@code name}, such as {@code libucp.so.0}. */
  public static Optional<String> find(Host host, String name) {
    // A user's PATH often lacks sbin.
    String cache = Stream.of("ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig")
        .map(program -> host.run(program, "-p").or("")).filter(text -> !text.isEmpty()).findFirst().orElse("");
    Matcher line = Pattern.compile("^\\s*" + Pattern.quote(name) + " \\(.*x86-64.*\\) => (\\S+)$", Pattern.MULTILINE)
        .matcher(cache);
    return line.find() ? Optional.of(line.group(1))
        : FOLDERS.stream().map(folder -> folder + "/" + name).filter(host::exists).findFirst();
  }
}
