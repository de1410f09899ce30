package io.sluice.spark.seal;

import io.sluice.spark.SluiceException;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** HKDF with HMAC-SHA-256, as RFC 5869 states it. Any thread. */
final class Hkdf {
  private static final String HMAC = "HmacSHA256";
  private static final int HASH_BYTES = 32;

  private final byte[] pseudorandomKey;

  /** Extracts: {@code salt} is not secret, {@code input} is. */
  Hkdf(byte[] salt, byte[] input) {
    this.pseudorandomKey = mac(salt).doFinal(input);
  }

  /** Expands to {@code bytes}, at most 255 times 32. */
  byte[] expand(byte[] info, int bytes) {
    Mac mac = mac(pseudorandomKey);
    byte[] result = new byte[bytes];
    byte[] block = {};
    for (int i = 0; i * HASH_BYTES < bytes; i++) {
      mac.update(block);
      mac.update(info);
      block = mac.doFinal(new byte[] {(byte) (i + 1)});
      System.arraycopy(block, 0, result, i * HASH_BYTES, Math.min(HASH_BYTES, bytes - i * HASH_BYTES));
    }
    Arrays.fill(block, (byte) 0);
    return result;
  }

  /** A MAC that has been given {@code key}, which is not empty. */
  static Mac mac(byte[] key) {
    try {
      Mac mac = Mac.getInstance(HMAC);
      mac.init(new SecretKeySpec(key, HMAC));
      return mac;
    } catch (GeneralSecurityException e) {
      throw new SluiceException("this Java has no " + HMAC + ", which spark.io.encryption.enabled needs: "
          + e.getMessage(), e);
    }
  }
}
