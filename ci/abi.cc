/*
  For the ABI check only: one object that holds the layout of what plugins
  share with the server. Compiled against stock and patched headers; pahole
  prints the layouts, and they must be the same.
*/
#include "my_global.h"
#include "sql_class.h"
#include "handler.h"
#include "table.h"
#include "mysql_com.h"

THD *millrace_thd;
system_variables *millrace_system_variables;
handler *millrace_handler;
TABLE *millrace_table;
NET *millrace_net;
