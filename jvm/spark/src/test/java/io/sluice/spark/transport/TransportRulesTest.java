package io.sluice.spark.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceException;
import io.sluice.spark.SluicePlugin;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TransportRulesTest {
  private static final String ACKNOWLEDGED = "spark.sluice.ucx.allowUnauthenticatedTcp";

  private static SparkConf conf() {
    return new SparkConf(false).set("spark.plugins", "com.example.Other, " + SluicePlugin.class.getName());
  }

  @Test
  void defaultSettingsAllowOneSidedReads() {
    assertEquals(Optional.empty(), TransportRules.refusal(conf()));
    assertEquals(Optional.empty(), TransportRules.refusal(conf().set("spark.shuffle.service.enabled", "true")));
    assertEquals(Optional.empty(), TransportRules.refusal(conf().set("spark.io.encryption.enabled", "true")));
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "spark.network.crypto.enabled", "spark.ssl.rpc.enabled", "spark.authenticate.enableSaslEncryption"
  })
  void networkEncryptionRefusesOneSidedReads(String key) {
    String reason = TransportRules.refusal(conf().set(key, "true")).orElseThrow();
    assertTrue(reason.contains(key) && reason.contains("spark.io.encryption.enabled"), reason);
    assertEquals(Optional.empty(),
        TransportRules.refusal(conf().set(key, "true").set("spark.io.encryption.enabled", "true")));
    assertEquals(Optional.empty(), TransportRules.refusal(conf().set(key, "false")));
    String ofSparksFormat = TransportRules
        .refusalOfSparksFormat(conf().set(key, "true").set("spark.io.encryption.enabled", "true")).orElseThrow();
    assertTrue(ofSparksFormat.contains(key) && ofSparksFormat.contains("Spark's format"), ofSparksFormat);
    assertEquals(Optional.empty(),
        TransportRules.refusalOfSparksFormat(conf().set(key, "false").set("spark.io.encryption.enabled", "true")));
  }

  @Test
  void tcpWithAuthenticationNeedsAnAcknowledgement() {
    SparkConf authenticated = conf().set("spark.authenticate", "true");
    String reason = TransportRules.refusal(authenticated).orElseThrow();
    assertTrue(reason.contains("spark.authenticate") && reason.contains(ACKNOWLEDGED + "=true"), reason);
    assertEquals(Optional.empty(), TransportRules.refusal(authenticated.clone().set(ACKNOWLEDGED, "true")));
    assertTrue(TransportRules.refusal(authenticated.clone().set(ACKNOWLEDGED, "false")).isPresent());
    assertTrue(TransportRules.refusal(authenticated.clone().set("spark.io.encryption.enabled", "true")).isPresent(),
        "encrypted blocks do not close the port");
    assertEquals(Optional.empty(), TransportRules.refusal(conf().set("spark.authenticate", "false")));
    assertThrows(SluiceException.class,
        () -> TransportRules.refusal(authenticated.clone().set(ACKNOWLEDGED, "perhaps")));
  }

  @ParameterizedTest
  @CsvSource(delimiter = ';', value = {"rc,self; true", "^tcp; true", " ^posix , tcp; true", "ib,cma; true",
    "rc,tcp,self; false", "all; false", "^posix; false", "'  '; false", "tcp; false",
    "rc,tcp:aux; false", "^tcp:aux; false", "\\tcp; false", "^\\tcp; true"})
  void withoutTcpNoAcknowledgementIsNeeded(String transports, boolean permitted) {
    SparkConf conf = conf().set("spark.authenticate", "true").set("spark.executorEnv.UCX_TLS", transports);
    assertEquals(permitted, TransportRules.refusal(conf).isEmpty());
  }

  @ParameterizedTest
  @ValueSource(strings = {"spark.shuffle.useOldFetchProtocol", "spark.shuffle.push.enabled"})
  void unsupportedSettingsRefuseOneSidedReads(String key) {
    assertTrue(TransportRules.refusal(conf().set(key, "true")).orElseThrow().contains(key));
  }

  @Test
  void withoutThePluginOneSidedReadsAreRefused() {
    assertTrue(TransportRules.refusal(new SparkConf(false)).orElseThrow().contains("spark.plugins"));
  }

  @Test
  void theSecretIsDerivedFromSparksOneWay() {
    byte[] secret = TransportSecret.of("correct horse");
    assertEquals(32, secret.length);
    assertArrayEquals(secret, TransportSecret.of("correct horse"));
    assertFalse(Arrays.equals(secret, TransportSecret.of("correct horsf")));
    assertFalse(new String(secret, StandardCharsets.ISO_8859_1).contains("horse"));
    assertEquals(0, TransportSecret.of(null).length);
    assertEquals(0, TransportSecret.of("").length);
  }
}
