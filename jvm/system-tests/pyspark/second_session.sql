SET spark.sluice.enabled=false;
SET spark.sql.shuffle.partitions=7;
SELECT k, count(*), max(name) FROM plain GROUP BY k ORDER BY k;
SELECT count(DISTINCT id), count(DISTINCT name) FROM parts;
