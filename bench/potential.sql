-- What tools/potential-check runs: rows whose text does not compress, moved by key twice.
SELECT /*+ REPARTITION(16, k) */ id, id % 100003 AS k, sha2(cast(id AS string), 256) AS text
  FROM range(0, 2000000, 1, 16);
SELECT k, count(*), max(text), min(text)
  FROM (SELECT id % 500009 AS k, sha2(cast(id AS string), 512) AS text FROM range(0, 1000000, 1, 16)) GROUP BY k;
