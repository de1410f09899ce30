package io.sluice.doctor.spark;

import static io.sluice.doctor.check.Subject.SPARK_KEYS;

import io.sluice.doctor.check.Check;
import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Subject;
import io.sluice.doctor.host.Host;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.UnrecoverableKeyException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The files of keys that settings name, opened as Spark opens them when a process starts: the secret of {@code
 * spark.authenticate}, and the key stores, trust stores and PEM files of {@code spark.ssl.rpc}. A process whose key
 * file is missing, empty or cut, or has another password, does not start. Says nothing where no file is named.
 */
public final class KeyFilesCheck implements Check {
  private static final String TLS = "spark.ssl.rpc";
  /** Spark takes what {@link #TLS} lacks from here. */
  private static final String TLS_FOR_ALL = "spark.ssl";
  private static final String AUTHENTICATE = "spark.authenticate";
  private static final List<String> SECRET_FILES = List.of("spark.authenticate.secret.file",
      "spark.authenticate.secret.driver.file", "spark.authenticate.secret.executor.file");
  private static final int MAX_BYTES = 16 << 20;
  private static final Pattern PRIVATE_KEY = Pattern.compile(
      "-----BEGIN ([A-Z ]*PRIVATE KEY)-----\\s+((?:[A-Za-z-]+: .*\\s+)*)([A-Za-z0-9+/=\\s]+)-----END \\1-----");

  private final String home;
  private final Map<String, String> given;

  /**
   * @param home of the Spark installation, or empty
   * @param given settings that precede those of its {@code spark-defaults.conf}
   */
  public KeyFilesCheck(String home, Map<String, String> given) {
    this.home = home;
    this.given = given;
  }

  @Override
  public Subject subject() {
    return SPARK_KEYS;
  }

  @Override
  public List<Finding> look(Host host) {
    Map<String, String> settings = new TreeMap<>(home.isEmpty() ? Map.of() : new SparkHome(home).defaults(host));
    settings.putAll(given);
    List<Finding> findings = new ArrayList<>();
    if (isTrue(settings, AUTHENTICATE)) {
      for (String key : SECRET_FILES) {
        look(findings, host, key, settings.get(key), true, KeyFilesCheck::secret);
      }
    }
    if (isTrue(settings, TLS + ".enabled")) {
      for (String store : List.of("keyStore", "trustStore")) {
        boolean own = store.equals("keyStore");
        look(findings, host, TLS + "." + store, tls(settings, store), own, content -> store(settings, store, content));
      }
      look(findings, host, TLS + ".privateKey", tls(settings, "privateKey"), true, KeyFilesCheck::privateKey);
      look(findings, host, TLS + ".certChain", tls(settings, "certChain"), false, KeyFilesCheck::certificates);
    }
    return findings;
  }

  private interface Opening {
    /**
     * What the file has, for people.
     *
     * @throws UnusableException with what is wrong with it
     */
    String open(Content content) throws UnusableException;
  }

  /** @param inFull whether the file is not longer than what is looked at */
  private record Content(byte[] bytes, boolean inFull) {
    InputStream stream() {
      return new ByteArrayInputStream(bytes);
    }

    String text() {
      return new String(bytes, StandardCharsets.US_ASCII);
    }
  }

  private static final class UnusableException extends Exception {
    private static final long serialVersionUID = 1;

    UnusableException(String what) {
      super(what);
    }
  }

  /** @param secret whether nobody else may read the file */
  private static void look(List<Finding> findings, Host host, String key, String path, boolean secret,
      Opening opening) {
    if (path == null || path.isEmpty()) {
      return;
    }
    if (path.contains("${")) {
      findings.add(Finding.unknown(SPARK_KEYS, key + "=" + path + " names other settings: not opened"));
      return;
    }
    String named = key + "=" + path;
    Path file = host.file(path);
    try {
      String content = opening.open(read(file));
      findings.add(secret && others(file)
          ? Finding.warning(SPARK_KEYS, named + ": " + content + "; every user of this machine may read it",
              "chmod o-r " + path)
          : Finding.ok(SPARK_KEYS, named + ": " + content));
    } catch (UnusableException e) {
      findings.add(Finding.problem(SPARK_KEYS, named + ": " + e.getMessage() + ": processes here do not start",
          "Copy the file anew from where it was made, whole and readable for Spark's user, and compare sizes; or set "
              + "the password that it was made with"));
    }
  }

  private static Content read(Path file) throws UnusableException {
    try (InputStream in = Files.newInputStream(file)) {
      byte[] bytes = in.readNBytes(MAX_BYTES + 1);
      if (bytes.length == 0) {
        throw new UnusableException("the file is empty");
      }
      return new Content(bytes, bytes.length <= MAX_BYTES);
    } catch (NoSuchFileException e) {
      throw new UnusableException("there is no such file on this machine");
    } catch (AccessDeniedException e) {
      throw new UnusableException("this user may not read the file");
    } catch (IOException e) {
      throw new UnusableException("the file cannot be read (" + e.getMessage() + ")");
    }
  }

  private static boolean others(Path file) {
    try {
      return Files.getPosixFilePermissions(file).contains(PosixFilePermission.OTHERS_READ);
    } catch (IOException | UnsupportedOperationException e) {
      return false;
    }
  }

  private static String secret(Content content) {
    return "a secret of " + content.bytes().length + " bytes; all processes need the same";
  }

  private static String store(Map<String, String> settings, String store, Content content) throws UnusableException {
    if (!content.inFull()) {
      return "longer than 16 MiB, not opened";
    }
    String password = tls(settings, store + "Password");
    if (password == null) {
      return "not opened, because " + TLS + "." + store + "Password is not here (a credential provider has it?)";
    }
    String type = tls(settings, store + "Type");
    try {
      KeyStore keys = KeyStore.getInstance(type == null ? "JKS" : type);
      keys.load(content.stream(), password.toCharArray());
      List<String> names = Collections.list(keys.aliases());
      boolean own = store.equals("keyStore");
      for (String name : names) {
        if (own && keys.isKeyEntry(name)) {
          String ofKey = tls(settings, "keyPassword");
          keys.getKey(name, (ofKey == null ? password : ofKey).toCharArray());
          return "opened, it has the key " + name;
        }
      }
      if (own || names.isEmpty()) {
        throw new UnusableException(own ? "it has no key" : "it has no certificate");
      }
      return "opened, certificates: " + names.size();
    } catch (UnrecoverableKeyException e) {
      throw new UnusableException("the key's password (" + TLS + ".keyPassword) is another");
    } catch (EOFException e) {
      throw new UnusableException("the file is cut");
    } catch (IOException | GeneralSecurityException e) {
      throw new UnusableException(e.getCause() instanceof UnrecoverableKeyException
          ? "the password is another, or the file is damaged"
          : "no key store of type " + (type == null ? "JKS or PKCS12" : type) + ", or the file is cut ("
              + e.getMessage() + ")");
    }
  }

  private static String privateKey(Content content) throws UnusableException {
    Matcher key = PRIVATE_KEY.matcher(content.text());
    if (!key.find()) {
      throw new UnusableException("no private key in PEM form from its first line to its last, so the file is cut or "
          + "another");
    }
    try {
      Base64.getMimeDecoder().decode(key.group(3));
    } catch (IllegalArgumentException e) {
      throw new UnusableException("the private key is damaged (" + e.getMessage() + ")");
    }
    return "a private key";
  }

  private static String certificates(Content content) throws UnusableException {
    try {
      int certificates = CertificateFactory.getInstance("X.509").generateCertificates(content.stream()).size();
      if (certificates == 0) {
        throw new UnusableException("it has no certificate");
      }
      return "certificates: " + certificates;
    } catch (CertificateException e) {
      throw new UnusableException("a certificate is cut or damaged (" + e.getMessage() + ")");
    }
  }

  /** As Spark looks it up. */
  private static String tls(Map<String, String> settings, String option) {
    String own = settings.get(TLS + "." + option);
    return own == null ? settings.get(TLS_FOR_ALL + "." + option) : own;
  }

  private static boolean isTrue(Map<String, String> settings, String key) {
    return settings.getOrDefault(key, "").strip().equalsIgnoreCase("true");
  }
}
