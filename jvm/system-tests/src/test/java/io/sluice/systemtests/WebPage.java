package io.sluice.systemtests;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;

/** A page as a browser gets it, after redirects. */
final class WebPage {
  private static final int TIMEOUT_MILLIS = 60_000;
  private static final int CHUNK = 8192;

  private WebPage() {}

  /** @throws IOException also for every status but 200 */
  static String get(String url) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
    connection.setConnectTimeout(TIMEOUT_MILLIS);
    connection.setReadTimeout(TIMEOUT_MILLIS);
    try (InputStream in = connection.getInputStream()) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      byte[] chunk = new byte[CHUNK];
      for (int read = in.read(chunk); read >= 0; read = in.read(chunk)) {
        bytes.write(chunk, 0, read);
      }
      return new String(bytes.toByteArray(), StandardCharsets.UTF_8);
    }
  }
}
