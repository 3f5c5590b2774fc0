# The operator sets how to drop caches, which depends on servers and privileges.
: "${DROP_CACHES:?set DROP_CACHES to a command that drops the caches of clients and servers, or to true for none}"
