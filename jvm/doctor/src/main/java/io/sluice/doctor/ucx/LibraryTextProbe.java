package io.sluice.doctor.ucx;

import io.sluice.doctor.host.Host;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Finds the text that {@code ucp_get_version_string} would return in the library's file, without loading it. The file's
 * name tells nothing: it has been {@code libucp.so.0.0.0} in every version. Tried on 1.13.1 (Debian) and 1.22.0
 * (wheel): there is exactly one such text in both.
 */
final class LibraryTextProbe implements UcxProbe {
  private static final Pattern TEXT = Pattern.compile("(1\\.\\d{1,2}\\.\\d{1,2})(?:-[a-z0-9]+)?\0");

  @Override
  public Optional<Answer> ask(Host host, UcxLibrary library) {
    List<String> found = library.content(host).map(bytes -> TEXT.matcher(new String(bytes, StandardCharsets.ISO_8859_1))
        .results().map(match -> match.group(1)).distinct().toList()).orElse(List.of());
    return found.size() == 1
        ? UcxVersion.parse(found.get(0)).map(version -> new Answer(version, List.of(), "its file")) : Optional.empty();
  }
}
