package io.sluice.spark.transport;

import io.sluice.spark.SluiceException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The secret that executors of one application prove to each other that they know. It is derived from Spark's secret
 * and does not reveal that.
 */
public final class TransportSecret {
  private static final String ALGORITHM = "HmacSHA256";
  private static final byte[] LABEL = "sluice one-sided transport, version 1".getBytes(StandardCharsets.US_ASCII);

  private TransportSecret() {}

  /**
   * The secret for the transport.
   *
   * @param sparks the application's secret; null or empty when {@code spark.authenticate} is off
   * @return 32 bytes; none when there is no secret
   */
  public static byte[] of(String sparks) {
    if (sparks == null || sparks.isEmpty()) {
      return new byte[0];
    }
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(sparks.getBytes(StandardCharsets.UTF_8), ALGORITHM));
      return mac.doFinal(LABEL);
    } catch (GeneralSecurityException e) {
      throw new SluiceException("this Java has no " + ALGORITHM + ", which the transport's secret is made with", e);
    }
  }
}
