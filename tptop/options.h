/* The command line and the option files. */
#ifndef TPTOP_OPTIONS_H
#define TPTOP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum exit_status { EXIT_WELL= 0, EXIT_FAILED= 1, EXIT_USAGE= 2 };

#define LEAST_INTERVAL 0.1
#define MOST_INTERVAL 3600.0

struct options
{
  /* Where. NULL and 0: the library's own default. */
  char *host, *user, *password, *socket, *protocol, *extra_socket;
  int64_t port, extra_port, connect_timeout;
  char *ssl_ca, *ssl_capath, *ssl_cert, *ssl_key, *ssl_cipher, *ssl_crl,
    *ssl_crlpath, *tls_version, *plugin_dir, *default_auth;
  bool ssl, no_ssl, ssl_verify, compress;
  /* What. */
  double interval;
  int64_t count;                /* of readings in batch mode; 0: no end */
  bool batch, ascii, no_color;
};

/* Ends the program for --help, --version and what is wrong. */
void options_read(struct options *options, int argc, char **argv);
void options_free(struct options *options);

#endif
