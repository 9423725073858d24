-- The data of all scenarios. 100,000 rows of 190 bytes, 10 hot rows, something
-- large to read slowly, and something larger than memory.
CREATE DATABASE bench;
USE bench;

CREATE TABLE item (
  id INT PRIMARY KEY,
  amount INT NOT NULL,
  name CHAR(120) NOT NULL,
  note CHAR(60) NOT NULL
) ENGINE=InnoDB CHARSET=latin1;
INSERT INTO item
  SELECT seq, 0, REPEAT(CHAR(97 + seq % 26), 120), REPEAT(CHAR(65 + seq % 26), 60)
  FROM seq_1_to_100000;

CREATE TABLE account (
  id INT PRIMARY KEY,
  balance BIGINT NOT NULL
) ENGINE=InnoDB;
INSERT INTO account SELECT seq, 0 FROM seq_1_to_100000;

CREATE TABLE hot (
  id INT PRIMARY KEY,
  hits BIGINT NOT NULL
) ENGINE=InnoDB;
INSERT INTO hot SELECT seq, 0 FROM seq_1_to_10;

CREATE TABLE large (
  id INT PRIMARY KEY,
  content VARCHAR(1000) NOT NULL
) ENGINE=InnoDB CHARSET=latin1;
INSERT INTO large SELECT seq, REPEAT(CHAR(97 + seq % 26), 1000)
  FROM seq_1_to_6000;

-- For io-bound: 80 MB, ten times the buffer pool that it has.
CREATE TABLE store (
  id INT PRIMARY KEY,
  amount INT NOT NULL,
  name CHAR(170) NOT NULL
) ENGINE=InnoDB CHARSET=latin1;
INSERT INTO store SELECT seq, 0, REPEAT(CHAR(97 + seq % 26), 170)
  FROM seq_1_to_400000;

CREATE USER bench@'127.0.0.1' IDENTIFIED BY 'bench';
CREATE USER bench@localhost IDENTIFIED BY 'bench';
GRANT ALL ON bench.* TO bench@'127.0.0.1', bench@localhost;
-- The probe has an account of its own, as a health check has.
CREATE USER probe@'127.0.0.1' IDENTIFIED BY 'probe';
CREATE USER probe@localhost IDENTIFIED BY 'probe';
GRANT SELECT ON bench.* TO probe@'127.0.0.1', probe@localhost;

CREATE USER batch@'127.0.0.1' IDENTIFIED BY 'batch';
CREATE USER batch@localhost IDENTIFIED BY 'batch';
GRANT SELECT ON bench.* TO batch@'127.0.0.1', batch@localhost;
GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO bench@'127.0.0.1', bench@localhost;
GRANT SELECT ON performance_schema.* TO bench@'127.0.0.1', bench@localhost;
