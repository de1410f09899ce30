"""Stands in for the module of C that Jython does not have. HiBench's load_config.py imports it, and uses it only to
ask a hadoop for its release, which the configuration here tells."""

F_GETFL = 3
F_SETFL = 4


def fcntl(_descriptor, _command, _argument=0):
    raise IOError("fcntl is not there on Jython")
