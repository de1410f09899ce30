package io.sluice.doctor.ucx;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.Text;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Asks {@code ucx_info}, when it belongs to the same installation: from 1.14 on it says where its library lies. */
final class UcxInfoProbe implements UcxProbe {
  private static final Pattern VERSION = Pattern.compile("^# Library version: (\\S+)", Pattern.MULTILINE);
  private static final Pattern PATH = Pattern.compile("^# Library path: (\\S+)", Pattern.MULTILINE);
  private static final Pattern TRANSPORT = Pattern.compile("Transport: (\\S+)");

  @Override
  public Optional<Answer> ask(Host host, UcxLibrary library) {
    Text about = host.run("ucx_info", "-v");
    Matcher version = VERSION.matcher(about.or(""));
    Matcher path = PATH.matcher(about.or(""));
    if (!version.find() || !path.find() || !sameFolder(host, path.group(1), library)) {
      return Optional.empty();
    }
    return UcxVersion.parse(version.group(1)).map(found -> new Answer(found, transports(host), "ucx_info"));
  }

  private static boolean sameFolder(Host host, String path, UcxLibrary library) {
    return new UcxLibrary(host.resolve(path), library.source()).folder().equals(library.folder());
  }

  private static List<String> transports(Host host) {
    return TRANSPORT.matcher(host.run("ucx_info", "-d").or("")).results().map(match -> match.group(1)).distinct()
        .toList();
  }
}
