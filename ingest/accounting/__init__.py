"""Accounting histories: what a cluster did, from the records of its scheduler, as the site file of the next one."""
