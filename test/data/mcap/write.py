"""Writes MCAP files in the form in which robots record them, and the content that the Python libraries read from them. Usage: python write.py
(needs mcap 1.6, mcap-ros2-support 0.6, Pillow 13, numpy 2.4)"""

import base64
import io
import json
import os

import numpy as np
from mcap.reader import make_reader
from mcap.writer import CompressionType, IndexType, Writer
from mcap_ros2 import _dynamic
from mcap_ros2._cdr import CdrWriter, EncapsulationKind
from mcap_ros2.decoder import DecoderFactory
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
START = 1_700_000_000_000_000_000
SEPARATOR = "=" * 80

TIME = f"{SEPARATOR}\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
HEADER = f"{SEPARATOR}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n{TIME}"
SCHEMAS = {
    "sensor_msgs/msg/JointState": f"std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n{HEADER}",
    "sensor_msgs/msg/CompressedImage": f"std_msgs/Header header\nstring format\nuint8[] data\n{HEADER}",
    "sensor_msgs/msg/Image": f"std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n{HEADER}",
    "geometry_msgs/msg/Twist": f"geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular\n{SEPARATOR}\nMSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n",
    "std_msgs/msg/Float32": "float32 data\n",
    "std_msgs/msg/String": "string data\n",
    "std_msgs/msg/Bool": "bool data\n",
    "test_msgs/msg/Everything": "\n".join(
        [
            *("bool a_bool", "byte a_byte", "char a_char", "float32 a_float32", "float64 a_float64"),
            *(f"{kind}{bits} a_{kind}{bits}" for bits in (8, 16, 32, 64) for kind in ("int", "uint")),
            *("string a_string", "string<=8 a_bounded_string", "uint8 A_CONSTANT=7", "int32 a_default 5"),
            *("bool[3] bools", "int16[3] fixed", "uint64[] open", "float32[<=4] bounded", "float64[] doubles", "string[2] strings", "int8[] bytes"),
            *("builtin_interfaces/Time stamp", "test_msgs/Point point", "test_msgs/Point[2] two_points", "test_msgs/Point[<=3] points", "test_msgs/Nothing nothing"),
            f"{SEPARATOR}\nMSG: test_msgs/Point\nfloat32 x\nuint8 flag\nfloat64 y\n{SEPARATOR}\nMSG: test_msgs/Nothing\n{TIME}",
        ]
    ),
}


def encoder(name):
    """Returns a function that encodes messages of a type, like mcap_ros2's writer."""
    return _dynamic.serialize_dynamic(name, SCHEMAS[name])[name]


def stamp(time):
    return {"sec": time // 10**9, "nanosec": time % 10**9}


def header(time):
    return {"stamp": stamp(time), "frame_id": "base"}


def picture(kind, i):
    y, x = np.mgrid[0:6, 0:8]
    pixels = np.stack([x * 30, y * 40, np.full_like(x, (i * 23) % 256)], axis=-1).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return list(file.getvalue())


def arm_messages(start=START, seconds=2.0):
    """Returns entries (time, topic, type, message), ordered by time. The header is 5 ms before the log."""
    all = []

    def every(hz, begin, topic, kind, make):
        for i in range(int((seconds - begin) * hz)):
            time = start + int(begin * 1e9) + i * 10**9 // hz
            all.append((time, topic, kind, make(i, time - 5_000_000)))

    every(50, 0, "/joint_states", "sensor_msgs/msg/JointState",
          lambda i, t: {"header": header(t), "name": ["a", "b", "c"], "position": [i, i / 8, -i / 4], "velocity": [i * 2.5], "effort": []})
    every(20, 0.03, "/command", "geometry_msgs/msg/Twist",
          lambda i, t: {"linear": {"x": i, "y": i + 0.25, "z": i + 0.5}, "angular": {"x": -i, "y": 0.125, "z": 1e-3 * i}})
    every(15, 0.01, "/camera", "sensor_msgs/msg/CompressedImage",
          lambda i, t: {"header": header(t), "format": "png", "data": picture("PNG", i)})
    every(10, 0.02, "/depth", "sensor_msgs/msg/Image",
          lambda i, t: {"header": header(t), "height": 2, "width": 3, "encoding": "16UC1", "is_bigendian": i % 2, "step": 8,
                        "data": list(b"".join(int(i * 1000 + k).to_bytes(2, "big" if i % 2 else "little") for k in (0, 1, 2, 99, 3, 4, 5, 99)))})
    every(10, 0.0, "/bgr", "sensor_msgs/msg/Image",
          lambda i, t: {"header": header(t), "height": 1, "width": 2, "encoding": "bgr8", "is_bigendian": 0, "step": 6, "data": [i, 1, 2, 3, 4, 5]})
    every(10, 0.05, "/reward", "std_msgs/msg/Float32", lambda i, t: {"data": i / 4})
    every(5, 0.04, "/task", "std_msgs/msg/String", lambda i, t: {"data": f"reach {i}"})
    every(10, 0.0, "/gripper", "json", lambda i, t: {"timestamp": {"sec": t // 10**9, "nsec": t % 10**9}, "open": i % 3 == 0, "force": [i / 2, i / 4]})
    # Occasionally, a message is logged later than a message that follows it.
    all.sort(key=lambda each: each[0])
    for k in range(7, len(all) - 1, 11):
        all[k], all[k + 1] = all[k + 1], all[k]
    return all


def write(name, messages, big_endian=False, **options):
    # The writer of the library only supports little-endian.
    _dynamic.CdrWriter = (lambda output: CdrWriter(output, EncapsulationKind.CDR_BE)) if big_endian else CdrWriter
    encoders = {kind: encoder(kind) for _, _, kind, _ in messages if kind != "json"}
    with open(os.path.join(HERE, name), "wb") as file:
        writer = Writer(file, **options)
        writer.start(profile="ros2", library="write.py")
        channels = {}
        for i, (time, topic, kind, message) in enumerate(messages):
            if topic not in channels:
                if kind == "json":
                    schema = writer.register_schema("gripper", "jsonschema", json.dumps({"type": "object"}).encode())
                else:
                    schema = writer.register_schema(kind, "ros2msg", SCHEMAS[kind].encode())
                channels[topic] = writer.register_channel(topic, "json" if kind == "json" else "cdr", schema)
            if kind == "json":
                data = json.dumps(message).encode()
            else:
                data = encoders[kind](message)
            writer.add_message(channels[topic], time, data, time - 1_000_000, i)
        writer.finish()


def plain(value):
    """Converts a message to JSON, with 64-bit integers as texts."""
    if hasattr(value, "__slots__") and not isinstance(value, (bytes, str)):
        return {name: plain(getattr(value, name)) for name in value.__slots__ if not name.startswith("_")}
    if isinstance(value, bytes):
        return list(value)
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53 else value


def read(name):
    """Returns the messages of each topic, as the Python libraries read them."""
    topics = {}
    with open(os.path.join(HERE, name), "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        for schema, channel, message in reader.iter_messages(log_time_order=True):
            if channel.message_encoding == "json":
                value = json.loads(message.data)
            else:
                decode = DecoderFactory().decoder_for(channel.message_encoding, schema)
                value = plain(decode(message.data))
            if schema.name == "sensor_msgs/msg/CompressedImage":
                value["data"] = np.asarray(Image.open(io.BytesIO(bytes(value["data"])))).reshape(-1).tolist()
            topics.setdefault(channel.topic, []).append({"time": str(message.log_time), "value": value})
    return topics


def everything():
    messages = []
    for i in range(3):
        sign = -1 if i == 1 else 1
        point = lambda k: {"x": k + 0.5, "flag": k, "y": sign * k / 3}
        messages.append((START + i * 10**8, "/everything", "test_msgs/msg/Everything", {
            "a_bool": i == 1, "a_byte": 200 + i, "a_char": 65 + i, "a_float32": sign * 1.5e30, "a_float64": sign * 0.1,
            **{f"a_int{bits}": sign * (2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)}, **{f"a_uint{bits}": 2**bits - 1 - i for bits in (8, 16, 32, 64)},
            "a_string": "wörd" * i, "a_bounded_string": "12345678", "a_default": 9, "bools": [True, False, i == 2], "fixed": [-1, 2, 300],
            "open": [2**63 + i, 1, 2], "bounded": [0.25, 0.5], "doubles": [k / 7 for k in range(12)], "strings": ["a", "bc" * i], "bytes": [-1, 0, 1],
            "stamp": stamp(START + i), "point": point(i), "two_points": [point(1), point(2)], "points": [point(k) for k in range(2)], "nothing": {},
        }))
    return messages


if __name__ == "__main__":
    arm = arm_messages()
    small = {"chunk_size": 4096}
    write("lz4.mcap", arm, compression=CompressionType.LZ4, **small)
    write("zstd.mcap", arm, compression=CompressionType.ZSTD, **small)
    write("none.mcap", arm, compression=CompressionType.NONE, **small)
    write("unchunked.mcap", arm, use_chunking=False, index_types=IndexType.NONE, use_statistics=False, use_summary_offsets=False, repeat_channels=False, repeat_schemas=False)
    write("little.mcap", everything())
    write("big.mcap", everything(), big_endian=True)
    expected = {"arm": read("zstd.mcap"), "little": read("little.mcap"), "big": read("big.mcap")}
    with open(os.path.join(HERE, "expected.json"), "w") as file:
        json.dump(expected, file, separators=(",", ":"))
