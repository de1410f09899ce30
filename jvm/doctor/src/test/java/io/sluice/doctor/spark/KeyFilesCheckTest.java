package io.sluice.doctor.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Verdict;
import io.sluice.doctor.host.FakeHost;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyStore;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files of keys as they should be, and cut, empty, missing, of another password. */
class KeyFilesCheckTest {
  private static final String PASSWORD = "of-this-test";

  @TempDir private static Path made;
  private static byte[] keyStore;
  private static byte[] trustStore;
  private static String privateKey;
  private static String certificate;

  @TempDir private Path root;
  private FakeHost host;
  private final Map<String, String> settings = new TreeMap<>(Map.of("spark.ssl.rpc.enabled", "true"));

  @BeforeAll
  static void makeKeys() throws Exception {
    Path file = made.resolve("keys.p12");
    Process keytool = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
        "-genkeypair", "-alias", "of-node", "-keyalg", "EC", "-dname", "CN=node", "-storetype", "PKCS12",
        "-keystore", file.toString(), "-storepass", PASSWORD)
        .redirectErrorStream(true).redirectOutput(made.resolve("log").toFile()).start();
    assertTrue(keytool.waitFor(1, TimeUnit.MINUTES));
    assertEquals(0, keytool.exitValue(), () -> made.resolve("log").toString());
    keyStore = Files.readAllBytes(file);
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(file)) {
      keys.load(in, PASSWORD.toCharArray());
    }
    privateKey = pem("PRIVATE KEY", keys.getKey("of-node", PASSWORD.toCharArray()).getEncoded());
    certificate = pem("CERTIFICATE", keys.getCertificate("of-node").getEncoded());
    KeyStore trust = KeyStore.getInstance("PKCS12");
    trust.load(null, null);
    trust.setCertificateEntry("of-node", keys.getCertificate("of-node"));
    Path trusted = made.resolve("trusted.p12");
    try (OutputStream out = Files.newOutputStream(trusted)) {
      trust.store(out, PASSWORD.toCharArray());
    }
    trustStore = Files.readAllBytes(trusted);
  }

  private static String pem(String what, byte[] der) {
    return "-----BEGIN " + what + "-----\n" + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der)
        + "\n-----END " + what + "-----\n";
  }

  @BeforeEach
  void makeHost() {
    host = FakeHost.ordinary(root);
  }

  private void file(String option, byte[] content) throws IOException {
    String path = "/etc/spark/" + option;
    Files.createDirectories(root.resolve("etc/spark"));
    Path file = Files.write(root.resolve(path.substring(1)), content);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    settings.put("spark.ssl.rpc." + option, path);
    settings.put("spark.ssl.rpc." + option + "Password", PASSWORD);
  }

  private Finding look() {
    List<Finding> findings = new KeyFilesCheck("", settings).look(host);
    assertEquals(1, findings.size(), findings::toString);
    return findings.get(0);
  }

  private void assertSays(Verdict verdict, String text) {
    Finding finding = look();
    assertEquals(verdict, finding.verdict(), finding::toString);
    assertTrue(finding.text().contains(text), finding::toString);
    if (verdict == Verdict.PROBLEM) {
      assertTrue(finding.text().endsWith(": processes here do not start"), finding::toString);
    }
  }

  @Test
  void whereNoFileIsNamedThereIsNothingToSay() throws IOException {
    assertEquals(List.of(), new KeyFilesCheck("", Map.of()).look(host));
    file("keyStore", new byte[0]);
    settings.put("spark.ssl.rpc.enabled", "false");
    settings.put("spark.authenticate.secret.file", "/absent");
    assertEquals(List.of(), new KeyFilesCheck("", settings).look(host));
  }

  @Test
  void storesAreOpened() throws IOException {
    file("keyStore", keyStore);
    assertSays(Verdict.OK, "keyStore: opened, it has the key of-node");
    settings.put("spark.ssl.rpc.keyStoreType", "PKCS12");
    assertSays(Verdict.OK, "it has the key of-node");
    settings.remove("spark.ssl.rpc.keyStore");
    file("trustStore", trustStore);
    assertSays(Verdict.OK, "trustStore: opened, certificates: 1");
  }

  @Test
  void settingsOfAllKindsOfTlsCount() throws IOException {
    file("keyStore", keyStore);
    for (String option : List.of("keyStore", "keyStorePassword")) {
      settings.put("spark.ssl." + option, settings.remove("spark.ssl.rpc." + option));
    }
    assertSays(Verdict.OK, "spark.ssl.rpc.keyStore=/etc/spark/keyStore: opened");
  }

  @ParameterizedTest
  @ValueSource(strings = {"keyStore", "trustStore"})
  void noPartOfAStoreIsTakenForAll(String option) throws IOException {
    byte[] whole = option.equals("keyStore") ? keyStore : trustStore;
    for (int bytes = 1; bytes < whole.length; bytes += 1 + whole.length / 20) {
      file(option, Arrays.copyOf(whole, bytes));
      assertSays(Verdict.PROBLEM, "spark.ssl.rpc." + option + "=/etc/spark/" + option + ": ");
    }
    file(option, new byte[0]);
    assertSays(Verdict.PROBLEM, "the file is empty");
  }

  @Test
  void anotherPasswordIsNamed() throws IOException {
    file("keyStore", keyStore);
    settings.put("spark.ssl.rpc.keyStorePassword", "another");
    assertSays(Verdict.PROBLEM, "the password is another");
    settings.remove("spark.ssl.rpc.keyStorePassword");
    assertSays(Verdict.OK, "not opened, because spark.ssl.rpc.keyStorePassword is not here");
  }

  @Test
  void aStoreOfCertificatesIsNoKeyStore() throws IOException {
    file("keyStore", trustStore);
    assertSays(Verdict.PROBLEM, "it has no key");
  }

  @Test
  void pemFilesAreLookedAt() throws IOException {
    file("privateKey", privateKey.getBytes());
    assertSays(Verdict.OK, "a private key");
    for (int bytes = 1; bytes < privateKey.length() - 1; bytes += 7) {
      file("privateKey", privateKey.substring(0, bytes).getBytes());
      assertSays(Verdict.PROBLEM, "no private key in PEM form");
    }
    settings.remove("spark.ssl.rpc.privateKey");
    file("certChain", (certificate + certificate).getBytes());
    assertSays(Verdict.OK, "certificates: 2");
    file("certChain", (certificate + certificate.substring(0, certificate.length() / 2)).getBytes());
    assertSays(Verdict.PROBLEM, "a certificate is cut");
  }

  @Test
  void secretsOfAuthenticationAreLookedAt() throws IOException {
    settings.put("spark.authenticate", "true");
    settings.put("spark.authenticate.secret.file", "/etc/secret");
    assertSays(Verdict.PROBLEM, "there is no such file on this machine");
    host.with("/etc/secret", "");
    assertSays(Verdict.PROBLEM, "the file is empty");
    host.with("/etc/secret", "0123456789abcdef");
    Path file = root.resolve("etc/secret");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
    assertSays(Verdict.OK, "a secret of 16 bytes");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
    assertSays(Verdict.WARNING, "every user of this machine may read it");
    assertEquals("chmod o-r /etc/secret", look().next());
  }

  @Test
  void aPathOfAnotherSettingIsNotOpened() {
    settings.put("spark.ssl.rpc.keyStore", "${env:KEYS}/keys.p12");
    assertSays(Verdict.NOTE, "names other settings: not opened");
  }

  @Test
  void settingsOfTheInstallationCount() throws IOException {
    host.with("/opt/spark/conf/spark-defaults.conf",
        "spark.ssl.rpc.enabled true\nspark.ssl.rpc.trustStore /etc/absent\n");
    List<Finding> findings = new KeyFilesCheck("/opt/spark", Map.of()).look(host);
    assertEquals(List.of("spark.ssl.rpc.trustStore=/etc/absent: there is no such file on this machine: processes here "
        + "do not start"), findings.stream().map(Finding::text).toList());
  }
}
