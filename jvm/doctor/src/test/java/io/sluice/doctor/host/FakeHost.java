package io.sluice.doctor.host;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** A machine made of files below a folder, and of answers that a test gives. */
public final class FakeHost implements Host {
  private final Path root;
  private final RootedFiles files;
  private final Map<String, String> environment = new HashMap<>();
  private final Map<String, String> properties = new HashMap<>(Map.of("os.name", "Linux", "os.arch", "amd64",
      "os.version", "6.1.0", "java.version", "17.0.15", "java.vendor", "Debian", "java.home", "/usr/lib/jvm/17",
      "java.io.tmpdir", "/tmp"));
  private final Map<String, String> commands = new HashMap<>();
  private final Map<String, byte[]> jar = new HashMap<>();
  private final Map<String, Space> spaces = new HashMap<>();
  private final Map<String, String> obstacles = new HashMap<>();
  private final Map<String, List<String>> addresses = new TreeMap<>();
  private Text nativeLibrary = Text.of("sluice 0.1.0, avx512");
  private MemoryTrial trial = new MemoryTrial(MemoryTrial.Result.PERMITTED, "read 8 bytes of a child process");

  public FakeHost(Path root) {
    this.root = root;
    this.files = new RootedFiles(root);
  }

  /** An ordinary bare-metal node without RDMA and UCX. */
  public static FakeHost ordinary(Path root) {
    FakeHost host = new FakeHost(root)
        .with("/etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12\"\n")
        .with("/proc/sys/kernel/hostname", "node7\n")
        .with("/proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: cx16 popcnt sse4_1 sse4_2 ssse3 avx2 bmi1 "
                + "bmi2 abm avx512f avx512bw avx512dq avx512vl\nprocessor\t: 1\n")
        .with("/proc/meminfo", "MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\nHugePages_Total:       0\n")
        .with("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
        .with("/proc/self/mounts", "/dev/sda1 / ext4 rw,relatime 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0\n")
        .with("/proc/self/status", "CapEff:\t0000000000000000\nSeccomp:\t0\n")
        .limits("unlimited", "65536").folder("/tmp").folder("/dev/shm")
        .space("/tmp", 500L << 30, 400L << 30).space("/dev/shm", 8L << 30, 8L << 30)
        .command("getconf GNU_LIBC_VERSION", "glibc 2.36");
    return host.namespaces(4026531839L, 4026531836L, 4026531837L).address("eth0", "10.0.0.7/24")
        .with("/sys/class/net/eth0/speed", "25000\n").with("/sys/class/net/eth0/mtu", "1500\n");
  }

  public FakeHost with(String path, String content) {
    try {
      Path file = files.at(path);
      Files.createDirectories(file.getParent());
      Files.writeString(file, content);
      return this;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public FakeHost folder(String path) {
    try {
      Files.createDirectories(files.at(path));
      return this;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public FakeHost without(String path) {
    try {
      Files.deleteIfExists(files.at(path));
      return this;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public FakeHost link(String path, String target) {
    try {
      Path file = files.at(path);
      Files.createDirectories(file.getParent());
      Files.deleteIfExists(file);
      Files.createSymbolicLink(file, Path.of(target));
      return this;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public FakeHost limits(String lockedBytes, String files) {
    return with("/proc/self/limits", """
        Limit                     Soft Limit           Hard Limit           Units
        Max open files            %s                %s                files
        Max locked memory         %s                %s                bytes
        """.formatted(files, files, lockedBytes, lockedBytes));
  }

  public FakeHost namespaces(long ipc, long pid, long user) {
    return link("/proc/self/ns/ipc", "ipc:[" + ipc + "]").link("/proc/self/ns/pid", "pid:[" + pid + "]")
        .link("/proc/self/ns/user", "user:[" + user + "]").link("/proc/self/ns/net", "net:[4026531833]");
  }

  public FakeHost environment(String name, String value) {
    environment.put(name, value);
    return this;
  }

  public FakeHost property(String name, String value) {
    properties.put(name, value);
    return this;
  }

  /** The program with these arguments, separated by spaces, answers so. */
  public FakeHost command(String command, String output) {
    commands.put(command, output);
    return this;
  }

  public FakeHost space(String path, long total, long free) {
    spaces.put(path, new Space(total, free));
    return this;
  }

  public FakeHost obstacle(String folder, String reason) {
    obstacles.put(folder, reason);
    return this;
  }

  public FakeHost address(String name, String... values) {
    addresses.put(name, List.of(values));
    return this;
  }

  public FakeHost jarFile(String name, String content) {
    jar.put(name, content.getBytes(StandardCharsets.ISO_8859_1));
    return this;
  }

  public FakeHost nativeLibrary(Text answer) {
    nativeLibrary = answer;
    return this;
  }

  public FakeHost trial(MemoryTrial.Result result) {
    trial = new MemoryTrial(result, "read 8 bytes of a child process");
    return this;
  }

  public Path root() {
    return root;
  }

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
    return Optional.ofNullable(environment.get(name));
  }

  @Override
  public String property(String name) {
    return properties.getOrDefault(name, "");
  }

  @Override
  public int availableCores() {
    return 2;
  }

  @Override
  public Text run(String... command) {
    String output = commands.get(String.join(" ", command));
    return output == null ? Text.missing(command[0] + " is not there") : Text.of(output);
  }

  @Override
  public Optional<Space> space(String path) {
    return Optional.ofNullable(spaces.get(path));
  }

  @Override
  public Optional<String> writeObstacle(String folder) {
    return Optional.ofNullable(obstacles.get(folder));
  }

  @Override
  public Map<String, List<String>> addresses() {
    return addresses;
  }

  @Override
  public Text nativeLibrary() {
    return nativeLibrary;
  }

  @Override
  public Optional<byte[]> jarFile(String name) {
    return Optional.ofNullable(jar.get(name));
  }

  @Override
  public MemoryTrial readMemoryOfChild() {
    return trial;
  }
}
