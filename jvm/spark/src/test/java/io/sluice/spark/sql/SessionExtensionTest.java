package io.sluice.spark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SessionExtensionTest {
  private static final String KEY = "spark.sql.extensions";
  private static final String OWN = SessionExtension.className("2.13.18");

  @Test
  void isAloneWhereNobodyElseHasOne() {
    SparkConf conf = new SparkConf(false);
    SessionExtension.addTo(conf);
    assertEquals(OWN, conf.get(KEY));
  }

  @Test
  void isPutBeforeTheUsersExtensions() {
    SparkConf conf = new SparkConf(false).set(KEY, "com.example.First, com.example.Second");
    SessionExtension.addTo(conf);
    assertEquals(OWN + ",com.example.First, com.example.Second", conf.get(KEY));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {"%s", "com.example.First, %s", "%s ,com.example.First"})
  void isNamedOnce(String pattern) {
    String before = String.format(pattern, OWN);
    SparkConf conf = new SparkConf(false).set(KEY, before);
    SessionExtension.addTo(conf);
    assertEquals(before, conf.get(KEY));
  }

  @Test
  void withoutSparkSqlNothingIsAdded() {
    SparkConf conf = new SparkConf(false);
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(ClassLoader.getPlatformClassLoader());
    try {
      SessionExtension.addTo(conf);
    } finally {
      thread.setContextClassLoader(before);
    }
    assertFalse(conf.contains(KEY));
  }
}
