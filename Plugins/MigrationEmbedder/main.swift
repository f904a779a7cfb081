print("no migrations yet")
