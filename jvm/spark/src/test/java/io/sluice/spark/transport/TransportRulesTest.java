package io.sluice.spark.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluicePlugin;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TransportRulesTest {
  private static SparkConf conf() {
    return new SparkConf(false).set("spark.plugins", "com.example.Other, " + SluicePlugin.class.getName());
  }

  @Test
  void anOrdinaryApplicationMayRead() {
    assertEquals(Optional.empty(), TransportRules.refusal(conf()));
    assertEquals(Optional.empty(), TransportRules.refusal(conf().set("spark.authenticate", "true")));
    assertEquals(Optional.empty(), TransportRules.refusal(conf().set("spark.shuffle.service.enabled", "true")));
    assertEquals(Optional.empty(), TransportRules.refusal(conf().set("spark.io.encryption.enabled", "true")));
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "spark.network.crypto.enabled", "spark.ssl.rpc.enabled", "spark.authenticate.enableSaslEncryption"
  })
  void whatSparkEncryptsOnTheWireDoesNotTravelInTheClear(String key) {
    String reason = TransportRules.refusal(conf().set(key, "true")).orElseThrow();
    assertTrue(reason.contains(key) && reason.contains("spark.io.encryption.enabled"), reason);
    assertEquals(Optional.empty(),
        TransportRules.refusal(conf().set(key, "true").set("spark.io.encryption.enabled", "true")));
    assertEquals(Optional.empty(), TransportRules.refusal(conf().set(key, "false")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"spark.shuffle.useOldFetchProtocol", "spark.shuffle.push.enabled"})
  void whatItDoesNotHonourIsRefused(String key) {
    assertTrue(TransportRules.refusal(conf().set(key, "true")).orElseThrow().contains(key));
  }

  @Test
  void withoutThePluginNobodyIsFound() {
    assertTrue(TransportRules.refusal(new SparkConf(false)).orElseThrow().contains("spark.plugins"));
  }

  @Test
  void theSecretIsMadeOfSparksAndDoesNotRevealIt() {
    byte[] secret = TransportSecret.of("correct horse");
    assertEquals(32, secret.length);
    assertArrayEquals(secret, TransportSecret.of("correct horse"));
    assertFalse(Arrays.equals(secret, TransportSecret.of("correct horsf")));
    assertFalse(new String(secret, StandardCharsets.ISO_8859_1).contains("horse"));
    assertEquals(0, TransportSecret.of(null).length);
    assertEquals(0, TransportSecret.of("").length);
  }
}
