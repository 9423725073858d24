# A running server is restarted, a stopped one stays stopped. Under systemd and
# without; policy-rc.d is asked in both cases.
restart_server()
{
  if [ -x /etc/init.d/mariadb ] &&
     invoke-rc.d --quiet mariadb status > /dev/null 2>&1; then
    echo "Restarting the MariaDB server"
    invoke-rc.d mariadb restart ||
      echo "The server did not start; see its error log" >&2
  fi
}
