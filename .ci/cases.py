"""Checks the cases that a JavaScript program wrote to a file, and prints one line of JSON with the result of each case."""
import json

DTYPES = {"bool": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64", "f32": "float32", "f64": "float64"}


class Wrong(Exception):
    pass


def must(found, expected, what):
    if found != expected:
        raise Wrong(f"{what} must be {str(expected)[:300]}, got {str(found)[:300]}")


def tell(name, **more):
    print(json.dumps({"name": name, **more}), flush=True)


def cases_in(path, kinds):
    """Checks each case with the function for its kind, prints the result, and yields the case."""
    with open(path) as file:
        cases = json.load(file)
    for case in cases:
        try:
            kinds[case["kind"]](case)
            tell(case["name"], ok=True)
        except Exception as error:  # A failed case is reported, and the next case is checked.
            tell(case["name"], ok=False, message=f"{type(error).__name__}: {error}"[:2000])
        yield case
