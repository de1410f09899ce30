SET spark.sluice.enabled=true;
SET spark.sql.shuffle.partitions=3;
SELECT a.k, a.n, count(p.id) FROM totals a JOIN plain p ON a.k = p.id % 97 GROUP BY a.k, a.n ORDER BY a.k;
SELECT k, count(*), max(id), min(name) FROM parts GROUP BY k ORDER BY k;
