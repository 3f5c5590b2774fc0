"""Sources of `observe`: a module declares what it reads in `SOURCES`, and is found by listing this folder."""
