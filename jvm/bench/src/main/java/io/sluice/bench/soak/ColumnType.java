package io.sluice.bench.soak;

/**
 * A type of a random table's columns, with an SQL expression that makes a value from the row's {@code id}. Every value
 * can be hashed, compared and grouped; none depends on anything but id and {@code salt}. There is no -0.0: which of two
 * equal zeros an aggregate keeps depends on the order of rows.
 */
enum ColumnType {
  TINYINT("CAST(pmod(hash(id, %1$d), 100) AS TINYINT)"),
  SMALLINT("CAST(hash(id, %1$d) %% 30000 AS SMALLINT)"),
  INT("CAST(hash(id, %1$d) %% %2$d AS INT)"),
  BIGINT("xxhash64(id, %1$d) %% %2$d"),
  LONG_RANDOM("xxhash64(id, %1$d)"),
  SKEWED("CAST(pow(pmod(hash(id, %1$d), 10000) / 10000D, 6D) * %2$d AS BIGINT)"),
  ASCENDING("id + %1$d"),
  BOOLEAN("hash(id, %1$d) %% 3 = 0"),
  FLOAT("CAST(if(hash(id, %1$d) %% 50 = 0, 'NaN', CAST(hash(id, %1$d) %% 1000 AS STRING)) AS FLOAT)"),
  DOUBLE("if(hash(id, %1$d) %% 50 = 0, double('NaN'), CAST(pmod(hash(id, %1$d), %2$d) AS DOUBLE) / 8D)"),
  DECIMAL("CAST(CAST(hash(id, %1$d) %% 1000000 AS DECIMAL(12,0)) / 100 AS DECIMAL(9,2))"),
  WIDE_DECIMAL("CAST(CAST(xxhash64(id, %1$d) AS DECIMAL(20,0)) * 12345 AS DECIMAL(30,3))"),
  WORD("concat('w', pmod(hash(id, %1$d), %2$d))"),
  TEXT("repeat(elt(pmod(hash(id, %1$d), 4) + 1, 'ab', 'ü', '€', ''), pmod(hash(id, %1$d, 1), 30))"),
  DIGEST("sha2(CAST(hash(id, %1$d) %% %2$d AS STRING), 256)"),
  BINARY("CAST(concat('b', pmod(hash(id, %1$d), %2$d)) AS BINARY)"),
  DATE("date_add(DATE'2000-01-01', pmod(hash(id, %1$d), 5000))"),
  TIMESTAMP("timestamp_micros(pmod(xxhash64(id, %1$d), 4000000000000000))"),
  ARRAY("sequence(0, pmod(hash(id, %1$d), 5))"),
  STRUCT("named_struct('a', pmod(hash(id, %1$d), 7), 'b', concat('s', pmod(hash(id, %1$d, 1), 9)))");

  private final String expression;

  ColumnType(String expression) {
    this.expression = expression;
  }

  /** SQL for the column {@code salt}, with about {@code distinct} values where the type leaves the choice. */
  String expression(int salt, int distinct) {
    return String.format(expression, salt, distinct);
  }
}
