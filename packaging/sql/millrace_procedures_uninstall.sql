-- Removes what millrace_procedures.sql made. The schema goes only if that file made it and nothing else is in it.
-- Grants that you made stay: REVOKE EXECUTE ON millrace.* FROM ...

DROP PROCEDURE IF EXISTS millrace.thread_pool_summary;
DROP PROCEDURE IF EXISTS millrace.thread_pool_waiting;
DROP PROCEDURE IF EXISTS millrace.thread_pool_lock_waits;
DROP PROCEDURE IF EXISTS millrace.thread_pool_may_see;

SELECT IF(
  EXISTS (SELECT 1 FROM information_schema.SCHEMATA
          WHERE SCHEMA_NAME='millrace' AND SCHEMA_COMMENT='Procedures of Millrace')
  AND NOT EXISTS (SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA='millrace')
  AND NOT EXISTS (SELECT 1 FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA='millrace')
  AND NOT EXISTS (SELECT 1 FROM information_schema.EVENTS WHERE EVENT_SCHEMA='millrace'),
  'DROP SCHEMA millrace', 'DO 0') INTO @millrace_query;
EXECUTE IMMEDIATE @millrace_query;
SET @millrace_query= NULL;
