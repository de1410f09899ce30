package io.sluice.doctor.host;

import io.sluice.nativebridge.NativeLibrary;
import java.io.IOException;
import java.io.InputStream;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The machine that this process runs on. */
public final class LocalHost implements Host {
  private static final Duration COMMAND_LIMIT = Duration.ofSeconds(5);

  private final RootedFiles files = new RootedFiles(Path.of("/"));

  @Override
  public Text read(String path) {
    return files.read(path);
  }

  @Override
  public List<String> list(String path) {
    return files.list(path);
  }

  @Override
  public boolean exists(String path) {
    return files.exists(path);
  }

  @Override
  public Text link(String path) {
    return files.link(path);
  }

  @Override
  public String resolve(String path) {
    return files.resolve(path);
  }

  @Override
  public Path file(String path) {
    return files.at(path);
  }

  @Override
  public Optional<String> environment(String name) {
    return Optional.ofNullable(System.getenv(name)).filter(value -> !value.isEmpty());
  }

  @Override
  public String property(String name) {
    return System.getProperty(name, "");
  }

  @Override
  public int availableCores() {
    return Runtime.getRuntime().availableProcessors();
  }

  @Override
  public Text run(String... command) {
    return ExternalCommand.run(COMMAND_LIMIT, command);
  }

  @Override
  public Optional<Space> space(String path) {
    try {
      FileStore store = Files.getFileStore(Path.of(path));
      return Optional.of(new Space(store.getTotalSpace(), store.getUsableSpace()));
    } catch (IOException | RuntimeException e) {
      return Optional.empty();
    }
  }

  @Override
  public Optional<String> writeObstacle(String folder) {
    try {
      Files.delete(Files.createTempFile(Path.of(folder), "sluice-doctor-", ""));
      return Optional.empty();
    } catch (IOException | RuntimeException e) {
      return Optional.of(e.toString());
    }
  }

  @Override
  public Map<String, List<String>> addresses() {
    Map<String, List<String>> addresses = new TreeMap<>();
    try {
      NetworkInterface.networkInterfaces().forEach(net -> addresses.put(net.getName(),
          net.getInterfaceAddresses().stream()
              .filter(address -> !address.getAddress().isLinkLocalAddress()).map(LocalHost::addressAndPrefix)
              .toList()));
    } catch (SocketException | RuntimeException e) {
      // An interface without known addresses is reported as just that.
    }
    return addresses;
  }

  private static String addressAndPrefix(InterfaceAddress address) {
    String text = address.getAddress().getHostAddress();
    int zone = text.indexOf('%');
    return (zone < 0 ? text : text.substring(0, zone)) + "/" + address.getNetworkPrefixLength();
  }

  @Override
  public Text nativeLibrary() {
    NativeLibrary.Status status = NativeLibrary.load("");
    return status.available() ? Text.of(status.detail()) : Text.missing(status.detail());
  }

  @Override
  public Optional<byte[]> jarFile(String name) {
    try (InputStream in = LocalHost.class.getResourceAsStream("/" + name)) {
      return in == null ? Optional.empty() : Optional.of(in.readAllBytes());
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  @Override
  public MemoryTrial readMemoryOfChild() {
    return ChildMemory.read();
  }
}
