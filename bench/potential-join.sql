-- What tools/potential-check runs besides: two tables whose text does not compress, joined by sorting, and summed up.
SELECT /*+ MERGE(a, b) */ a.k % 1009 AS g, count(*), max(concat(a.text, b.text))
  FROM (SELECT id % 300007 AS k, sha2(cast(id AS string), 512) AS text FROM range(0, 900000, 1, 16)) a
  JOIN (SELECT id % 300007 AS k, sha2(cast(-id AS string), 512) AS text FROM range(0, 600000, 1, 16)) b ON a.k = b.k
  GROUP BY a.k % 1009;
