-- Two procedures for administrators: what the thread pool does, and who waits.
--
--   mariadb < millrace_procedures.sql
--   mariadb -e 'CALL millrace.thread_pool_summary()'
--   mariadb -e 'CALL millrace.thread_pool_waiting()'
--
-- They read tables of information_schema and performance_schema, and change nothing. They run with
-- the rights of whoever calls them: without PROCESS nobody sees more than his own connections. A table
-- that this server doesn't have is left out, so they also work on a server without Millrace.
--
-- They have a schema of their own: sys and mysql are the server's, and an upgrade may write them anew.
-- millrace_procedures_uninstall.sql removes what this file makes. To let others call them:
--   GRANT EXECUTE ON millrace.* TO monitor@localhost;

SET @millrace_mode= @@sql_mode, @millrace_names= @@character_set_client, @millrace_collation= @@collation_connection;
SET sql_mode= 'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY,ERROR_FOR_DIVISION_BY_ZERO';
SET NAMES utf8mb4;

CREATE SCHEMA IF NOT EXISTS millrace DEFAULT CHARACTER SET utf8mb4 COMMENT 'Procedures of Millrace';

DELIMITER //

-- May the caller see all connections? The tables of InnoDB say so by an error, which counts roles too.
CREATE OR REPLACE PROCEDURE millrace.thread_pool_may_see(OUT may BOOLEAN)
  READS SQL DATA SQL SECURITY INVOKER
  COMMENT 'A part of thread_pool_summary and thread_pool_waiting'
BEGIN
  DECLARE n BIGINT;
  DECLARE host, name VARCHAR(400);
  DECLARE CONTINUE HANDLER FOR 1227 SET may= FALSE;  -- ER_SPECIFIC_ACCESS_DENIED_ERROR
  SET may= NULL;
  IF EXISTS (SELECT 1 FROM information_schema.TABLES
             WHERE TABLE_SCHEMA='information_schema' AND TABLE_NAME='INNODB_TRX') THEN
    SET may= TRUE;
    SELECT COUNT(*) INTO n FROM information_schema.INNODB_TRX;
  ELSE
    SET host= SUBSTRING_INDEX(CURRENT_USER(), '@', -1);
    SET name= LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - CHAR_LENGTH(host) - 1);
    SELECT COUNT(*) > 0 INTO may FROM information_schema.USER_PRIVILEGES
      WHERE PRIVILEGE_TYPE='PROCESS' AND GRANTEE=CONCAT('''', name, '''@''', host, '''');
  END IF;
END//

-- The text of a query: WAITER and HOLDER, by connection, the lock, SECONDS, and whether it is a row lock. NULL: nothing is
-- known here.
CREATE OR REPLACE PROCEDURE millrace.thread_pool_lock_waits(OUT query TEXT)
  READS SQL DATA SQL SECURITY INVOKER
  COMMENT 'A part of thread_pool_summary and thread_pool_waiting'
BEGIN
  -- Locks that many may have at a time
  DECLARE weak TEXT DEFAULT '(''INTENTION_EXCLUSIVE'',''SHARED'',''SHARED_HIGH_PRIO'',''SHARED_READ'',''SHARED_WRITE'',
    ''SHARED_UPGRADABLE'',''BACKUP_DML'',''BACKUP_TRANS_DML'',''BACKUP_SYS_DML'',''BACKUP_DDL'',''BACKUP_ALTER_COPY'',
    ''BACKUP_COMMIT'')';
  SET query= NULL;
  IF (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA='information_schema'
      AND TABLE_NAME IN ('INNODB_TRX','INNODB_LOCKS','INNODB_LOCK_WAITS')) = 3 THEN
    -- InnoDB tells times of the system's time zone, whatever that of the session is.
    SET query= '
      SELECT r.trx_mysql_thread_id AS WAITER, b.trx_mysql_thread_id AS HOLDER,
        CONCAT(l.lock_mode, '' lock of '', l.lock_table) AS WAITS_FOR,
        TIMESTAMPDIFF(SECOND, r.trx_wait_started, CONVERT_TZ(NOW(), @@SESSION.time_zone, ''SYSTEM'')) AS SECONDS,
        TRUE AS IS_ROW
      FROM information_schema.INNODB_LOCK_WAITS w
      JOIN information_schema.INNODB_TRX r ON r.trx_id=w.requesting_trx_id
      JOIN information_schema.INNODB_TRX b ON b.trx_id=w.blocking_trx_id
      LEFT JOIN information_schema.INNODB_LOCKS l ON l.lock_id=w.requested_lock_id';
  END IF;
  -- A weak lock is kept waiting by a strong one that is held, or that waits before it; a strong one by all.
  IF @@GLOBAL.performance_schema AND EXISTS (SELECT 1 FROM information_schema.TABLES
             WHERE TABLE_SCHEMA='performance_schema' AND TABLE_NAME='metadata_locks') THEN
    SET query= CONCAT(IF(query IS NULL, '', CONCAT(query, ' UNION ')), '
      SELECT rt.PROCESSLIST_ID, bt.PROCESSLIST_ID,
        CONCAT(r.LOCK_TYPE, '' lock of '', LOWER(r.OBJECT_TYPE), '' '',
               CONCAT_WS(''.'', NULLIF(r.OBJECT_SCHEMA, ''''), r.OBJECT_NAME)), rt.PROCESSLIST_TIME, FALSE
      FROM performance_schema.metadata_locks r
      JOIN performance_schema.threads rt ON rt.THREAD_ID=r.OWNER_THREAD_ID
      JOIN performance_schema.metadata_locks b ON b.OBJECT_TYPE=r.OBJECT_TYPE
        AND b.OBJECT_SCHEMA <=> r.OBJECT_SCHEMA AND b.OBJECT_NAME <=> r.OBJECT_NAME
        AND b.OWNER_THREAD_ID<>r.OWNER_THREAD_ID
      JOIN performance_schema.threads bt ON bt.THREAD_ID=b.OWNER_THREAD_ID
      WHERE r.LOCK_STATUS=''PENDING'' AND
        (b.LOCK_STATUS=''GRANTED'' AND (r.LOCK_TYPE NOT IN ', weak, ' OR b.LOCK_TYPE NOT IN ', weak, '
           OR r.LOCK_TYPE=''SHARED_UPGRADABLE'' AND b.LOCK_TYPE=''SHARED_UPGRADABLE'')
         OR b.LOCK_STATUS=''PENDING'' AND b.LOCK_TYPE NOT IN ', weak, ' AND r.LOCK_TYPE IN ', weak, ')');
  END IF;
END//

CREATE OR REPLACE PROCEDURE millrace.thread_pool_summary()
  READS SQL DATA SQL SECURITY INVOKER
  COMMENT 'What the thread pool does now, and who holds the locks that others wait for'
BEGIN
  DECLARE may, ours, has_gate, has_waits, has_queues, has_groups BOOLEAN;
  DECLARE figures, locks TEXT;
  DECLARE high, low, logins, oldest, longest, waited, waits, by_limit, by_priority, by_threads, by_logins,
          blocked, can_restore DOUBLE;

  CALL millrace.thread_pool_may_see(may);
  CALL millrace.thread_pool_lock_waits(locks);
  SELECT MAX(TABLE_NAME='THREAD_POOL_GROUPS'), MAX(TABLE_NAME='THREAD_POOL_QUEUES'), MAX(TABLE_NAME='THREAD_POOL_GATE')
    INTO has_groups, has_queues, has_gate
    FROM information_schema.TABLES WHERE TABLE_SCHEMA='information_schema' AND TABLE_NAME LIKE 'THREAD\_POOL\_%';
  SELECT COUNT(*) > 0 INTO has_waits FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA='information_schema' AND TABLE_NAME='THREAD_POOL_WAITS' AND COLUMN_NAME='WAITING';
  SELECT COUNT(*) > 0 INTO ours FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA='information_schema' AND TABLE_NAME='THREAD_POOL_GROUPS' AND COLUMN_NAME='RESERVE_THREADS';
  SELECT MAX(IF(VARIABLE_NAME='THREADPOOL_REQUESTS_WAITING_IN_HP_QUEUE', VARIABLE_VALUE, NULL)),
         MAX(IF(VARIABLE_NAME='THREADPOOL_REQUESTS_WAITING_IN_QUEUE', VARIABLE_VALUE, NULL)),
         MAX(IF(VARIABLE_NAME='THREADPOOL_REQUESTS_WAITING_IN_LOGIN_QUEUE', VARIABLE_VALUE, NULL)),
         MAX(IF(VARIABLE_NAME='THREADPOOL_OLDEST_WAITER_US', VARIABLE_VALUE, NULL)),
         MAX(IF(VARIABLE_NAME='THREADPOOL_MAX_QUEUE_WAIT_US', VARIABLE_VALUE, NULL)),
         MAX(IF(VARIABLE_NAME='THREADPOOL_QUEUE_WAIT_US', VARIABLE_VALUE, NULL)),
         MAX(IF(VARIABLE_NAME='THREADPOOL_QUEUE_WAITS', VARIABLE_VALUE, NULL)),
         MAX(IF(VARIABLE_NAME='THREADPOOL_HELD_BY_LIMIT_US', VARIABLE_VALUE, NULL)),
         MAX(IF(VARIABLE_NAME='THREADPOOL_HELD_BY_PRIORITY_US', VARIABLE_VALUE, NULL)),
         MAX(IF(VARIABLE_NAME='THREADPOOL_HELD_BY_THREADS_US', VARIABLE_VALUE, NULL)),
         MAX(IF(VARIABLE_NAME='THREADPOOL_HELD_BY_LOGINS_US', VARIABLE_VALUE, NULL)),
         MAX(IF(VARIABLE_NAME='THREADPOOL_BLOCKED_US', VARIABLE_VALUE, NULL)),
         MAX(IF(VARIABLE_NAME='THREADPOOL_CAN_RESTORE_NICE', VARIABLE_VALUE IN ('1', 'ON'), NULL))
    INTO high, low, logins, oldest, longest, waited, waits, by_limit, by_priority, by_threads, by_logins, blocked,
         can_restore
    FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME LIKE 'THREADPOOL%';

  IF @@GLOBAL.thread_handling <> 'pool-of-threads' THEN
    SELECT CONCAT('There is no thread pool: this server runs with thread_handling=', @@GLOBAL.thread_handling,
                  '. Set thread_handling=pool-of-threads and restart it.') AS note;
  ELSE
    SET figures= CONCAT('SELECT 1 AS n, ''server'' AS figure, ', QUOTE(CONCAT(VERSION(), IF(ours, '',
      ', without Millrace: the gate, the reserve, long statements and what holds a statement are not known'))), ' AS now');
    IF has_groups THEN
      SET figures= CONCAT(figures, ' UNION ALL SELECT 2, ''groups'', CONCAT(COUNT(*), '' with '', SUM(CONNECTIONS),
        '' connections; '', SUM(QUEUE_LENGTH > 0), '' have a queue, '', SUM(IS_STALLED), '' stand still'')
        FROM information_schema.THREAD_POOL_GROUPS');
      SET figures= CONCAT(figures, ' UNION ALL SELECT 3, ''threads'', CONCAT(SUM(THREADS), '' of at most '',
        @@GLOBAL.thread_pool_max_threads, '': '', SUM(ACTIVE_THREADS), '' run, '',', IF(ours, '
        SUM(LONG_STATEMENTS), '' run long statements, '', SUM(WAITING_THREADS), '' wait, '',', ''), '
        SUM(STANDBY_THREADS), '' sleep, '', SUM(HAS_LISTENER), '' listen'')
        FROM information_schema.THREAD_POOL_GROUPS');
    ELSE
      SET figures= CONCAT(figures, ' UNION ALL SELECT 2, ''groups'', ''not known: the table THREAD_POOL_GROUPS is off''');
    END IF;
    IF ours THEN
      SET figures= CONCAT(figures, ' UNION ALL SELECT 4, ''reserve'', CONCAT(SUM(RESERVE_THREADS),
        '' threads past the limit'', IF(SUM(RESERVE_THREADS) > 0, '': lock waiters fill the pool'', ''''))
        FROM information_schema.THREAD_POOL_GROUPS');
    END IF;
    IF has_waits THEN
      SET figures= CONCAT(figures, ' UNION ALL SELECT 5, ''threads wait for'', COALESCE(
        GROUP_CONCAT(CONCAT(REASON, '' '', WAITING) ORDER BY WAITING DESC, REASON SEPARATOR '', ''), ''nothing'')
        FROM information_schema.THREAD_POOL_WAITS WHERE WAITING > 0 AND REASON <> ''NET''');
    END IF;
    IF blocked > 0 THEN
      SET figures= CONCAT(figures, ' UNION ALL SELECT 6, ''blocked'', ', QUOTE(CONCAT('for ', ROUND(blocked / 1e6, 1),
        ' s: no thread could be created. The error log says more')));
    END IF;
    IF oldest IS NOT NULL THEN
      SET figures= CONCAT(figures, ' UNION ALL SELECT 7, ''queues'', ', QUOTE(CONCAT(high, ' high, ', low, ' low, ', logins,
        ' logins; the oldest statement has waited for ', ROUND(oldest / 1e6, 3), ' s')));
      SET figures= CONCAT(figures, ' UNION ALL SELECT 8, ''waits until now'', ', QUOTE(CONCAT(waits, ' statements, ',
        ROUND(IF(waits > 0, waited / waits, 0) / 1e3, 3), ' ms on average, ', ROUND(longest / 1e6, 3), ' s the longest')));
      SET waited= by_limit + by_priority + by_threads + by_logins;
      IF waited > 0 THEN
        SET figures= CONCAT(figures, ' UNION ALL SELECT 9, ''held by'', ', QUOTE(CONCAT(
          'transaction limit ', ROUND(100 * by_limit / waited), ' %, priority ', ROUND(100 * by_priority / waited),
          ' %, thread ', ROUND(100 * by_threads / waited), ' %, login order ', ROUND(100 * by_logins / waited), ' %')));
      END IF;
    ELSEIF has_queues THEN
      SET figures= CONCAT(figures, ' UNION ALL SELECT 7, ''queues'', CONCAT(COALESCE(SUM(PRIORITY=0), 0), '' high, '',
        COALESCE(SUM(PRIORITY=1), 0), '' low; the oldest has waited for '',
        ROUND(COALESCE(MAX(QUEUEING_TIME_MICROSECONDS), 0) / 1e6, 3), '' s'') FROM information_schema.THREAD_POOL_QUEUES');
    END IF;
    IF has_gate THEN
      -- What the timer saw is old while nobody waits: the groups know better.
      SET figures= CONCAT(figures, ' UNION ALL SELECT 10, ''gate'', IF(g.TRANSACTIONS_LIMIT = 0, ''no limit for transactions'',
        CONCAT(g.TRANSACTIONS_LIMIT, '' may be hot ('', g.REASON, ''; set: '', g.SET_LIMIT, ''), '', s.hot, '' are, '',
               s.waiting, '' wait'',
               IF(s.waiting > 0, CONCAT(''; '', g.IDLE_PROCESSORS, '' of '', g.PROCESSORS, '' processors idle''), '''')))
        FROM information_schema.THREAD_POOL_GATE g, (SELECT SUM(HOT_TRANSACTIONS) AS hot, SUM(WAITING_TRANSACTIONS) AS waiting
          FROM information_schema.THREAD_POOL_GROUPS) s');
      SET figures= CONCAT(figures, ' UNION ALL SELECT 11, ''credits'', CONCAT(s.here, '' with the groups, '', g.FREE_CREDITS,
        '' free; '', s.open, '' transactions are open'') FROM information_schema.THREAD_POOL_GATE g,
        (SELECT SUM(TRANSACTIONS_LIMIT) AS here, SUM(OPEN_TRANSACTIONS) AS open
         FROM information_schema.THREAD_POOL_GROUPS) s WHERE g.TRANSACTIONS_LIMIT > 0');
      SET figures= CONCAT(figures, ' UNION ALL SELECT 12, ''long statements'', CONCAT(s.n, '' run now, on '', g.PROCESSORS,
        '' processors', IF(can_restore = 0, '; the server may not restore the threads that it demotes: set LimitNICE=+0', ''),
        ''') FROM information_schema.THREAD_POOL_GATE g, (SELECT SUM(LONG_STATEMENTS) AS n
         FROM information_schema.THREAD_POOL_GROUPS) s');
    END IF;
    EXECUTE IMMEDIATE CONCAT('SELECT figure, now FROM (', figures, ') AS f ORDER BY n');

    IF has_groups THEN
      EXECUTE IMMEDIATE CONCAT('SELECT GROUP_ID, CONNECTIONS, THREADS, ACTIVE_THREADS AS ACTIVE, QUEUE_LENGTH AS QUEUED,
        IS_STALLED AS STALLED', IF(ours, ', WAITING_THREADS AS WAITING, LONG_STATEMENTS AS LONG_ONES, HOT_TRANSACTIONS AS HOT,
        WAITING_TRANSACTIONS AS AT_GATE, RESERVE_THREADS AS RESERVE', ''), '
        FROM information_schema.THREAD_POOL_GROUPS WHERE QUEUE_LENGTH > 0 OR ACTIVE_THREADS > 0',
        IF(ours, ' OR WAITING_THREADS > 0 OR LONG_STATEMENTS > 0', ''), '
        ORDER BY QUEUE_LENGTH DESC, THREADS DESC, GROUP_ID LIMIT 8');
    END IF;
  END IF;

  IF NOT may THEN
    SELECT 'You need the privilege PROCESS to see who holds locks.' AS note;
  ELSEIF locks IS NULL THEN
    SELECT 'This server has no table that says who holds locks.' AS note;
  ELSE
    -- Who waits for a row behind others holds it from those behind: not worth a line each.
    EXECUTE IMMEDIATE CONCAT('
      WITH l AS (', locks, '),
        h AS (SELECT HOLDER, COUNT(DISTINCT WAITER) AS WAITERS, MAX(SECONDS) AS LONGEST_S, MIN(WAITS_FOR) AS WAIT_FOR_ITS,
                MIN(IS_ROW) AS is_row, MAX(HOLDER IN (SELECT WAITER FROM l)) AS waits FROM l GROUP BY HOLDER)
      SELECT h.HOLDER, h.WAITERS, h.LONGEST_S, h.WAIT_FOR_ITS,
        IF(p.ID IS NULL, ''it has no connection: see XA RECOVER'', CONCAT(p.USER, ''@'', p.HOST,
          IF(h.waits, '', waits itself'', CONCAT(IF(p.COMMAND=''Sleep'', '', idle for '', '', busy for ''), p.TIME, '' s'')))) AS WHO,
        LEFT(p.INFO, 40) AS STATEMENT, IF(p.ID IS NULL, '''', CONCAT(''KILL '', h.HOLDER, '';'')) AS TO_END_IT
      FROM h LEFT JOIN information_schema.PROCESSLIST p ON p.ID=h.HOLDER
      WHERE NOT (h.waits AND h.is_row) ORDER BY h.waits, h.LONGEST_S DESC, h.WAITERS DESC, h.HOLDER LIMIT 10');
    IF FOUND_ROWS() = 0 THEN
      SELECT 'Nobody waits for a lock whose holder is known.' AS note;
    END IF;
  END IF;
END//

CREATE OR REPLACE PROCEDURE millrace.thread_pool_waiting()
  READS SQL DATA SQL SECURITY INVOKER
  COMMENT 'Who waits in the thread pool, and for which locks, the longest first'
BEGIN
  DECLARE may, ours, has_queues BOOLEAN;
  DECLARE locks TEXT;
  CALL millrace.thread_pool_may_see(may);
  CALL millrace.thread_pool_lock_waits(locks);
  SELECT COUNT(*) > 0 INTO ours FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='THREADPOOL_OLDEST_WAITER_US';
  SELECT COUNT(*) > 0 INTO has_queues FROM information_schema.TABLES
    WHERE TABLE_SCHEMA='information_schema' AND TABLE_NAME='THREAD_POOL_QUEUES';

  IF NOT may THEN
    SELECT 'You need the privilege PROCESS to see the connections of others, and locks.' AS note;
  END IF;
  IF @@GLOBAL.thread_handling <> 'pool-of-threads' THEN
    SELECT CONCAT('There is no thread pool: this server runs with thread_handling=', @@GLOBAL.thread_handling,
                  '. Nobody waits for a thread of it.') AS note;
  ELSEIF ours THEN
    EXECUTE IMMEDIATE CONCAT('
      SELECT ID, USER, HOST, WAITS_FOR, SECONDS, DB, STATEMENT FROM (
        SELECT ID, USER, HOST, SUBSTRING_INDEX(STATE, ''pool: '', -1) AS WAITS_FOR, ROUND(TIME_MS / 1000, 3) AS SECONDS, DB,
          LEFT(INFO, 60) AS STATEMENT
        FROM information_schema.PROCESSLIST WHERE STATE LIKE ''Waiting in thread pool%''', IF(has_queues, '
        UNION ALL
        SELECT NULL, CONCAT(COUNT(*), '' logins''), NULL, ''login order'', ROUND(MAX(QUEUEING_TIME_MICROSECONDS) / 1000000, 3),
          NULL, NULL
        FROM information_schema.THREAD_POOL_QUEUES WHERE CONNECTION_ID IS NULL HAVING COUNT(*) > 0', ''), '
      ) AS w ORDER BY SECONDS DESC LIMIT 20');
    IF FOUND_ROWS() = 0 THEN
      SELECT IF(may, 'Nobody waits in a queue of the pool.', 'None of your connections waits in a queue of the pool.') AS note;
    END IF;
  ELSEIF has_queues THEN
    SELECT 'This server is without Millrace: what holds a statement in the queue, and its text, are not known.' AS note;
    EXECUTE IMMEDIATE '
      SELECT q.CONNECTION_ID AS ID, p.USER, p.HOST, IF(q.PRIORITY=0, ''high queue'', ''low queue'') AS WAITS_FOR,
        ROUND(q.QUEUEING_TIME_MICROSECONDS / 1000000, 3) AS SECONDS, p.DB
      FROM information_schema.THREAD_POOL_QUEUES q JOIN information_schema.PROCESSLIST p ON p.ID=q.CONNECTION_ID
      ORDER BY SECONDS DESC LIMIT 20';
    IF FOUND_ROWS() = 0 THEN
      SELECT IF(may, 'Nobody waits in a queue of the pool.', 'None of your connections waits in a queue of the pool.') AS note;
    END IF;
  ELSE
    SELECT 'The table THREAD_POOL_QUEUES is off.' AS note;
  END IF;

  -- With PROCESS only. A state that names a lock without a known holder has NULL there.
  IF may THEN
    -- Of the holders those who don't wait themselves, if there is one.
    EXECUTE IMMEDIATE CONCAT('
      WITH l AS (', COALESCE(locks, 'SELECT NULL AS WAITER, NULL AS HOLDER, NULL AS WAITS_FOR, NULL AS SECONDS'), '),
        w AS (SELECT WAITER, MIN(WAITS_FOR) AS WAITS_FOR, MAX(SECONDS) AS SECONDS, COALESCE(
                GROUP_CONCAT(DISTINCT IF(HOLDER IN (SELECT WAITER FROM l), NULL, HOLDER) ORDER BY HOLDER SEPARATOR '', ''),
                GROUP_CONCAT(DISTINCT HOLDER ORDER BY HOLDER SEPARATOR '', '')) AS HOLDERS FROM l GROUP BY WAITER)
      SELECT p.ID, p.USER, p.HOST, COALESCE(w.WAITS_FOR, p.STATE) AS WAITS_FOR, COALESCE(w.SECONDS, p.TIME) AS SECONDS,
        w.HOLDERS AS BLOCKED_BY, LEFT(p.INFO, 60) AS STATEMENT
      FROM information_schema.PROCESSLIST p LEFT JOIN w ON w.WAITER=p.ID
      WHERE w.WAITER IS NOT NULL OR p.STATE LIKE ''Waiting for%lock%'' OR p.STATE=''User lock'' OR p.STATE=''System lock''
      ORDER BY SECONDS DESC, p.ID LIMIT 20');
    IF FOUND_ROWS() = 0 THEN
      SELECT 'Nobody waits for a lock.' AS note;
    END IF;
  END IF;
END//

DELIMITER ;

SET sql_mode= @millrace_mode, character_set_client= @millrace_names, character_set_results= @millrace_names,
  collation_connection= @millrace_collation;
SET @millrace_mode= NULL, @millrace_names= NULL, @millrace_collation= NULL;
