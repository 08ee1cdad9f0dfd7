"""What the record tells about what went wrong: pure functions over nouns, one report a module. Time is an argument."""
