SET spark.sql.shuffle.partitions=3;
SET hive.exec.dynamic.partition.mode=nonstrict;
CREATE TABLE plain (id BIGINT, k BIGINT, name STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' STORED AS TEXTFILE;
INSERT INTO plain SELECT /*+ REPARTITION(3, k) */ id, id * 31 % 97 AS k, concat('name ', id % 100) FROM range(20000);
CREATE TABLE parts (id BIGINT, name STRING) PARTITIONED BY (k BIGINT) STORED AS ORC;
INSERT INTO parts PARTITION (k) SELECT id, name, k % 5 FROM plain DISTRIBUTE BY k % 5;
CREATE TABLE totals STORED AS PARQUET AS SELECT k, count(*) AS n, max(name) AS most FROM plain GROUP BY k;
