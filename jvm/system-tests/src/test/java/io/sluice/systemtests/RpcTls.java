package io.sluice.systemtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import scala.collection.Iterator;

/**
 * A key of this machine's own, made for one test, and the settings with which Spark 4 encrypts RPC and block transfer
 * by TLS with it.
 */
final class RpcTls {
  private static final String ALIAS = "spark";
  private static final String PASSWORD = "of-this-test";
  private static final int LIMIT_MILLIS = 30_000;

  private final Path keys;
  private final Path trusted;
  private final SSLContext context;

  private RpcTls(Path keys, Path trusted, SSLContext context) {
    this.keys = keys;
    this.trusted = trusted;
    this.context = context;
  }

  /** Puts a key store and a trust store into {@code folder}. */
  static RpcTls in(Path folder) throws IOException, GeneralSecurityException, InterruptedException {
    Path keys = folder.resolve("keys.p12");
    Process keytool = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
        "-genkeypair", "-alias", ALIAS, "-keyalg", "EC", "-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1",
        "-validity", "2", "-storetype", "PKCS12", "-keystore", keys.toString(), "-storepass", PASSWORD)
        .redirectErrorStream(true).start();
    String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(keytool.waitFor(1, TimeUnit.MINUTES), "keytool does not end");
    assertEquals(0, keytool.exitValue(), output);
    KeyStore own = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(keys)) {
      own.load(in, PASSWORD.toCharArray());
    }
    KeyStore trust = KeyStore.getInstance("PKCS12");
    trust.load(null, null);
    trust.setCertificateEntry(ALIAS, own.getCertificate(ALIAS));
    Path trusted = folder.resolve("trusted.p12");
    try (OutputStream out = Files.newOutputStream(trusted)) {
      trust.store(out, PASSWORD.toCharArray());
    }
    TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(trust);
    SSLContext context = SSLContext.getInstance("TLSv1.3");
    context.init(null, managers.getTrustManagers(), null);
    return new RpcTls(keys, trusted, context);
  }

  Map<String, String> settings() {
    return Map.of("spark.ssl.rpc.enabled", "true", "spark.ssl.rpc.protocol", "TLSv1.3",
        "spark.ssl.rpc.keyStore", keys.toString(), "spark.ssl.rpc.keyStorePassword", PASSWORD,
        "spark.ssl.rpc.keyPassword", PASSWORD,
        "spark.ssl.rpc.trustStore", trusted.toString(), "spark.ssl.rpc.trustStorePassword", PASSWORD);
  }

  /** Leaves {@code bytes} of the key store, or of the trust store. */
  void cut(boolean keyStore, int bytes) throws IOException {
    Path file = keyStore ? keys : trusted;
    Files.write(file, Arrays.copyOf(Files.readAllBytes(file), bytes));
  }

  /** Each process's server of blocks answers a TLS handshake, with the certificate of this key. */
  void assertServersSpeakIt(SparkApplication application) throws IOException {
    Iterator<String> servers = application.session().sparkContext().getExecutorMemoryStatus().keysIterator();
    while (servers.hasNext()) {
      String[] address = servers.next().split(":");
      try (SSLSocket socket =
          (SSLSocket) context.getSocketFactory().createSocket(address[0], Integer.parseInt(address[1]))) {
        socket.setSoTimeout(LIMIT_MILLIS);
        socket.startHandshake();
        assertEquals("TLSv1.3", socket.getSession().getProtocol());
      }
    }
  }
}
