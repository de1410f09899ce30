package io.sluice.spark.seal;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;

/** A digest of the seals of frames, in their order: tells whether frames on a disk are those that were written. */
public final class SealsDigest {
  private SealsDigest() {}

  /** The digest of no frame; {@code update} adds the seal of the next one. */
  public static MessageDigest start() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (GeneralSecurityException e) {
      throw OutputKeys.noCipher(e);
    }
  }
}
