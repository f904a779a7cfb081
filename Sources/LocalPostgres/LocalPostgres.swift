// Filled in by the module's first commit.
