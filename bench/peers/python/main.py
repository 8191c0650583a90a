"""Runs the process of a peer variant: creates the measured object, describes it, then does n operations for each line with a number n."""
import gc
import importlib
import importlib.metadata
import json
import os
import sys
import time
import warnings

# Responses are lines of the original standard output. The output of libraries is redirected.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
warnings.filterwarnings("ignore")


def say(answer):
    print(json.dumps(answer), file=answers, flush=True)


def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def described(name, array):
    """Describes a NumPy, torch or JAX array as [name, dtype, shape, bytes]."""
    size = array.nbytes if hasattr(array, "nbytes") else array.element_size() * array.nelement()
    return [name, str(array.dtype).removeprefix("torch."), list(array.shape), int(size)]


def main():
    task = json.loads(sys.argv[1])
    try:
        library = importlib.import_module(f"libraries.{task['library']}")
    except Exception as error:
        return say({"skipped": f"does not import: {error!r}"})
    make = getattr(library, task["program"], None)
    if make is None:
        return say({"skipped": getattr(library, "CANNOT", {}).get(task["program"], "has no such memory")})
    try:
        # Creates a small buffer first, so that the memory of compilers (JAX, numba) does not count.
        make(task | {"steps": 1000 * -(-task["batch"] // 1000)})
        gc.collect()
        before = rss()
        run, columns = make(task)
    except NotImplementedError as error:
        return say({"skipped": str(error)})
    except Exception as error:
        return say({"skipped": f"fails: {error!r}"})
    gc.collect()
    memory = rss() - before
    version = importlib.metadata.version(library.PACKAGE)
    say({"columns": [described(*column) for column in columns().items()], "memory": memory, "version": version})
    # Keeps the garbage collector from scanning existing objects during the measurement.
    gc.freeze()
    for line in sys.stdin:
        start = time.perf_counter_ns()
        run(int(line))
        say({"ns": time.perf_counter_ns() - start})


main()
