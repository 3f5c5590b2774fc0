"""How much memory a process of a test held."""

#: code for that process, because `getrusage` tells what the process held that started it, if that was more
MOST_HELD = """
def most_held():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) * 1024
"""
