print("brocot")
